"""A service for the domain `profile`: pip install fastapi uvicorn 'pyjwt[crypto]'

PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json python3 examples/services/fastapi_service.py
"""
import os
from typing import Optional

import jwt
import uvicorn
from fastapi import Depends, FastAPI, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

# The lifespan of the keys, in seconds, is the time for which a revoked key is accepted.
keys = jwt.PyJWKClient(os.environ['PORTICO_JWKS'], lifespan=30)
app = FastAPI()
names = {}


class InvalidAssertion(Exception):
    pass


def account_of(authorization: str = Header(default='')) -> str:
    """Returns the account that the call assertion names."""
    token = authorization.removeprefix('Bearer ')
    try:
        key = keys.get_signing_key_from_jwt(token).key
        expected = {'issuer': 'portico', 'audience': 'profile-service', 'leeway': 5}
        options = {'require': ['exp', 'sub']}
        claims = jwt.decode(token, key, algorithms=['EdDSA'], options=options, **expected)
    except jwt.PyJWTError as error:
        raise InvalidAssertion from error
    if jwt.get_unverified_header(token).get('typ') != 'portico-call+jwt':
        raise InvalidAssertion
    return claims['sub']


@app.exception_handler(InvalidAssertion)
def reject(_request: Request, _error: InvalidAssertion):
    # No envelope: an invalid assertion is a fault of the deployment, not of a user.
    return Response(status_code=401)


class Update(BaseModel):
    accountName: Optional[str] = None


def coded(code: str, value: int) -> dict:
    return {'code': code, 'value': value, 'label': code, 'description': code}


@app.get('/web/v1/consumer/profile')
def read_profile(account: str = Depends(account_of)) -> dict:
    at = '2026-01-01T00:00:00.000Z'
    texts = {'accountEmail': 'someone@example.com', 'accountPhone': '', 'accountRemark': None}
    coded_values = {'accountPortal': coded('CONSUMER', 10010104), 'accountStatus': coded('ACTIVE', 10010202)}
    defaults = {'defaultLanguage': 'en', 'defaultTimezone': 'UTC', 'defaultCountry': 'US'}
    ids = {'bizId': account, 'institutionBizId': account, 'createdAt': at, 'updatedAt': at}
    return {**ids, **texts, **coded_values, **defaults, 'accountName': names.get(account, 'Someone')}


@app.post('/web/v1/consumer/profile/update')
def update_profile(update: Update, account: str = Depends(account_of)) -> dict:
    names[account] = update.accountName or names.get(account, 'Someone')
    return read_profile(account)


@app.api_route('/{path:path}', methods=['GET', 'POST'])
def refuse_path(_account: str = Depends(account_of)):
    refusal = {'success': False, 'code': 'RESOURCE.NOT_FOUND', 'message': '', 'data': None}
    return JSONResponse(refusal, status_code=404)


# The gateway reuses an idle connection for 4 seconds: keep it open longer.
uvicorn.run(app, host='127.0.0.1', port=int(os.environ.get('PORT', '8081')), timeout_keep_alive=60, log_level='warning')
