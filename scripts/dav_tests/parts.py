"""The parts by name."""

from .caldav import run_caldav
from .caldavtester import run_caldavtester
from .eds import run_eds
from .syncevolution import run_syncevolution
from .thunderbird import run_thunderbird
from .together import run_together
from .tsdav import run_tsdav
from .vdirsyncer import run_vdirsyncer

PARTS = {
    "vdirsyncer": run_vdirsyncer,
    "caldav": run_caldav,
    "thunderbird": run_thunderbird,
    "eds": run_eds,
    "syncevolution": run_syncevolution,
    "tsdav": run_tsdav,
    "together": run_together,
    "caldavtester": run_caldavtester,
}
