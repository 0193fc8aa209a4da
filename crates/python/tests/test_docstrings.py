"""The examples of the docstrings, run in a folder that has their files."""

import doctest
import os
import unittest

import blockmill
from blockmill import _commands, _tables
from support import Folder


def load_tests(loader, tests, pattern):
    folder = Folder()
    unittest.addModuleCleanup(folder.close)
    here = os.getcwd()

    def begin(test):
        os.chdir(folder.path)

    def end(test):
        os.chdir(here)

    for module in [_commands, _tables]:
        tests.addTests(
            doctest.DocTestSuite(
                module, globs={"blockmill": blockmill}, setUp=begin, tearDown=end
            )
        )
    return tests


if __name__ == "__main__":
    unittest.main()
