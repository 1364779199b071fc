from rumor_client.client import Client as Client
from rumor_client.consent.consent import Choice as Choice
from rumor_client.consent.consent import Consent as Consent
from rumor_client.consent.consent import Effective as Effective
from rumor_client.errors import ClientError as ClientError
from rumor_client.errors import ConfigurationError as ConfigurationError
from rumor_client.errors import NoAnswer as NoAnswer
from rumor_client.errors import StateBusy as StateBusy
from rumor_client.errors import StateUnavailable as StateUnavailable
from rumor_client.inspection.status import Status as Status
from rumor_client.inspection.view import Seen as Seen
from rumor_client.recording.outbox import Bounds as Bounds
from rumor_client.recording.result import Cap as Cap
from rumor_client.recording.result import RecordStatus as RecordStatus
from rumor_client.recording.result import Result as Result
from rumor_client.state.memory import MemoryState as MemoryState
from rumor_client.state.protocol import State as State
from rumor_client.state.report import Report as Report
from rumor_client.state.report import Sent as Sent
from rumor_client.state.report import Waiting as Waiting
from rumor_client.state.sqlite_state import SqliteState as SqliteState
from rumor_client.upload.result import FlushResult as FlushResult
from rumor_client.upload.result import UploadStatus as UploadStatus
from rumor_client.upload.retraction import Forgotten as Forgotten
from rumor_client.upload.transport import Request as Request
from rumor_client.upload.transport import Response as Response
from rumor_client.upload.transport import Transport as Transport

__all__ = [
    "Bounds",
    "Cap",
    "Choice",
    "Client",
    "ClientError",
    "ConfigurationError",
    "Consent",
    "Effective",
    "FlushResult",
    "Forgotten",
    "MemoryState",
    "NoAnswer",
    "RecordStatus",
    "Report",
    "Request",
    "Response",
    "Result",
    "Seen",
    "Sent",
    "SqliteState",
    "State",
    "StateBusy",
    "StateUnavailable",
    "Status",
    "Transport",
    "UploadStatus",
    "Waiting",
]

def __dir__() -> list[str]: ...
