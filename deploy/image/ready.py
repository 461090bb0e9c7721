"""Exits with 0 if a plane reports that it is ready: the health check of its container.

The certificate is not verified, for the answer decides nothing but whether this container is healthy.
"""

import http.client
import ssl
import sys
from urllib.parse import urlsplit

address = urlsplit(sys.argv[1])
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
connection = http.client.HTTPSConnection(address.netloc, context=context, timeout=3)
connection.request("GET", address.path)
sys.exit(connection.getresponse().status != 200)
