"""Exits with 0 if a plane reports that it is ready, and else prints why not: the health check of its container.

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
try:
    connection.request("GET", address.path)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"{sys.argv[1]} does not answer: {error}")
if answer.status != 200:
    sys.exit(f"{sys.argv[1]} answers {answer.status}: {text}")
