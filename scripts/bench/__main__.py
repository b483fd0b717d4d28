import sys

from scripts.bench.run import main

sys.exit(main())
