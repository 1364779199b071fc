"""What PyInstaller takes along: every module of the client and of the contract.

An app names its mechanisms in a file that no freezer reads.
"""

from PyInstaller.utils.hooks import collect_entry_point, collect_submodules

datas, hiddenimports = collect_entry_point("rumor.mechanisms")
hiddenimports += collect_submodules("rumor_client") + collect_submodules("rumor_shared")
