# SPDX-License-Identifier: Apache-2.0
"""The canary as a test of ReFrame: reframe -c reframe_canary.py -r --system=SYSTEM"""
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class GpubenchCanary(rfm.RunOnlyRegressionTest):
    descr = "Are this node's GPUs fit for a job?"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "gpubench"
    executable_opts = ["fleet", "canary", "--max-seconds=60"]
    time_limit = "2m"
    exclusive_access = True

    @sanity_function
    def is_fit(self):
        # Slow GPUs and those that do not answer end with 1 and 2, and the line says which.
        return sn.all([sn.assert_eq(self.job.exitcode, 0), sn.assert_found(r"^canary: .* fine", self.stdout)])
