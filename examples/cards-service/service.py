"""The service of cards.yaml, for Python 3.10 or newer: pip install 'pyjwt[crypto]'

PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json python3 examples/cards-service/service.py
"""
import json
import os
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

# The lifespan of the keys, in seconds, is the time for which a revoked key is accepted.
keys = jwt.PyJWKClient(os.environ['PORTICO_JWKS'], lifespan=30)
# The cards of each workspace. A real service has a database.
cards_of = {}


def verify_caller(authorization):
    """Returns the claims of the call assertion, or None if it is not valid."""
    token = (authorization or '').removeprefix('Bearer ')
    try:
        if jwt.get_unverified_header(token).get('typ') != 'portico-call+jwt':
            return None
        key = keys.get_signing_key_from_jwt(token).key
        expected = {'issuer': 'portico', 'audience': 'cards-service', 'leeway': 5}
        return jwt.decode(token, key, algorithms=['EdDSA'], options={'require': ['exp', 'sub']}, **expected)
    except jwt.PyJWTError as error:
        print(error, file=sys.stderr)
        return None


def cards_in(workspace):
    first = {'bizId': '01990000-0000-7000-8000-0000000000c1', 'lastDigits': '4242', 'status': 'ACTIVE'}
    return cards_of.setdefault(workspace, [first])


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    # Longer than the 4 seconds for which the gateway reuses an idle connection.
    timeout = 60

    def send(self, status, value=None):
        body = b'' if value is None else json.dumps(value).encode()
        self.send_response(status)
        if value is not None:
            self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code):
        self.send(status, {'success': False, 'code': code, 'message': '', 'data': None})

    def handle_call(self):
        self.rfile.read(int(self.headers.get('Content-Length') or 0))
        caller = verify_caller(self.headers.get('Authorization'))
        if caller is None:
            # No envelope: an invalid assertion is a fault of the deployment, not of a user.
            return self.send(401)
        cards = cards_in(caller['workspace']['id'])
        if self.path == '/web/v1/consumer/cards':
            return self.send(200, cards)
        match = re.fullmatch(r'/web/v1/consumer/cards/([0-9a-f-]+)/block', self.path)
        card = next((each for each in cards if match and each['bizId'] == match[1]), None)
        if card is None:
            return self.refuse(404, 'RESOURCE.NOT_FOUND')
        if card['status'] != 'ACTIVE':
            return self.refuse(422, 'CARD.NOT_ACTIVE')
        card['status'] = 'BLOCKED'
        return self.send(200, card)

    do_GET = do_POST = handle_call


ThreadingHTTPServer(('127.0.0.1', int(os.environ.get('PORT', '8081'))), Handler).serve_forever()
