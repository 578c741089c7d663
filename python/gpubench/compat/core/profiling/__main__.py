# SPDX-License-Identifier: Apache-2.0
from ....torch_cli import main

raise SystemExit(main())
