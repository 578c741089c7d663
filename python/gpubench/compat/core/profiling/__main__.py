# SPDX-License-Identifier: Apache-2.0
from ....profiling import main

raise SystemExit(main())
