"""A service for the domain `profile`, for Python 3.10 or newer: pip install 'pyjwt[crypto]'

PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json python3 examples/services/python.py
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt

keys = jwt.PyJWKClient(os.environ['PORTICO_JWKS'])
names = {}


def verify_caller(authorization):
    """Returns the claims of the call assertion, or None if it is not valid."""
    token = (authorization or '').removeprefix('Bearer ')
    try:
        if jwt.get_unverified_header(token).get('typ') != 'portico-call+jwt':
            return None
        key = keys.get_signing_key_from_jwt(token).key
        expected = {'issuer': 'portico', 'audience': 'profile-service', 'leeway': 5}
        return jwt.decode(token, key, algorithms=['EdDSA'], options={'require': ['exp', 'sub']}, **expected)
    except jwt.PyJWTError as error:
        print(error, file=sys.stderr)
        return None


def coded(code, value):
    return {'code': code, 'value': value, 'label': code, 'description': code}


def to_profile(account):
    at = '2026-01-01T00:00:00.000Z'
    return {
        'bizId': account,
        'institutionBizId': account,
        'accountEmail': 'someone@example.com',
        'accountPhone': '',
        'accountName': names.get(account, 'Someone'),
        'accountRemark': None,
        'accountPortal': coded('CONSUMER', 10010104),
        'accountStatus': coded('ACTIVE', 10010202),
        'createdAt': at,
        'updatedAt': at,
        'defaultLanguage': 'en',
        'defaultTimezone': 'UTC',
        'defaultCountry': 'US',
    }


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

    def handle_call(self):
        body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        caller = verify_caller(self.headers.get('Authorization'))
        if caller is None:
            # No envelope: an invalid assertion is a fault of the deployment, not of a user.
            return self.send(401)
        if self.path == '/web/v1/consumer/profile':
            return self.send(200, to_profile(caller['sub']))
        if self.path == '/web/v1/consumer/profile/update':
            names[caller['sub']] = json.loads(body)['accountName']
            return self.send(200, to_profile(caller['sub']))
        refusal = {'success': False, 'code': 'RESOURCE.NOT_FOUND', 'message': '', 'data': None}
        return self.send(404, refusal)

    do_GET = do_POST = handle_call


ThreadingHTTPServer(('127.0.0.1', int(os.environ.get('PORT', '8081'))), Handler).serve_forever()
