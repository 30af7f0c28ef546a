import type { Code } from '../../src/kernel/index.ts'

export interface RefusalText {
  cause: string
  action: string
}

const retryLater = 'Retry after the seconds in `Retry-After`. Repeat a command with the same key.'

/** A missing code is a type error. */
export const refusalTexts: Readonly<Record<Code, RefusalText>> = {
  'VALIDATION.INVALID_PARAMETER': {
    cause:
      'A header, path parameter, query parameter or body field is missing, malformed or unknown. The message names it.',
    action: 'Correct the named input. A repeated header is invalid, too.',
  },
  'SECURE_CHANNEL.INVALID_PAYLOAD': {
    cause:
      'The encrypted body cannot be accepted: unknown, expired or foreign session, used number, other path, or changed bytes. Also an unencrypted body where the portal requires encryption.',
    action: 'Open a new channel session and send the request once more. If it fails again, fix the client.',
  },
  'ACCESS.WORKSPACE_REQUIRED': {
    cause: 'The operation needs a workspace. The request names none, or the account has no default workspace.',
    action: 'Send `X-Workspace-Id`.',
  },
  'ACCESS.COOKIE_INVALID': {
    cause:
      'The request has two session cookies, a malformed one, or one together with `Authorization`. Also a request for a one-time link in a session that has tokens.',
    action:
      'Send no token in cookie mode. Do not set the cookie in scripts or at an edge. With a token, call the operation itself.',
  },
  'REQUEST.MALFORMED': {
    cause: 'The request broke off before its end.',
    action: 'Retry on a new connection.',
  },
  'ACCESS.TOKEN_MISSING': {
    cause: 'The operation needs a signed-in caller, and the request has no token.',
    action: 'Sign in and send `Authorization: Bearer …`.',
  },
  'ACCESS.TOKEN_INVALID': {
    cause: 'The token or API key is malformed, expired or revoked, or bound to another portal or client hash.',
    action: 'Refresh the token once and repeat the request. Sign in again if that fails.',
  },
  'ACCESS.TICKET_INVALID': {
    cause:
      'The one-time ticket in the URL is used, expired or unknown, or belongs to another session or path. Also HEAD, and a ticket together with `Authorization`.',
    action: 'Request a new URL.',
  },
  'PROVISIONING.NOT_UNIQUE': {
    cause:
      'Another account has the address, or another resource of the identity provider the name or external id. A provider takes over no account.',
    action: 'Match the existing resource at the provider, or change the address of one of the accounts.',
  },
  'PROVISIONING.INVALID_FILTER': {
    cause: 'The filter has another operator than `eq` and `and`, or an attribute that cannot be searched.',
    action: 'Search by `userName`, `externalId`, `id`, `emails.value`, `displayName`, `active` or `members`.',
  },
  'PROVISIONING.INVALID_PATH': {
    cause: 'The path of a PATCH is malformed, missing for a removal, or has a filter that is not supported.',
    action: 'Correct the attribute mapping at the identity provider.',
  },
  'PROVISIONING.INVALID_SYNTAX': {
    cause: 'The body is not valid JSON, or a PATCH has an unknown operation.',
    action: 'Correct the request.',
  },
  'PROVISIONING.TOO_MANY': {
    cause: 'The identity provider has as many people, groups or members of a group as it can have.',
    action: 'Provision fewer, or raise `access.provisioning`.',
  },
  'AUTH.INVALID_CREDENTIALS': {
    cause: 'The e-mail address or the password is wrong, or the account cannot sign in at this portal.',
    action: 'Ask the user to check both. The response does not reveal which one is wrong.',
  },
  'AUTH.CODE_INVALID': {
    cause: 'The code is wrong, expired or used.',
    action: 'Ask for the code again, or send a new one. Attempts are limited.',
  },
  'AUTH.CLIENT_MISMATCH': {
    cause: 'The sign-in or registration was started with another `X-Client-Hash`.',
    action: 'Keep one client hash, and start again.',
  },
  'ACCESS.PERMISSION_DENIED': {
    cause: 'The caller lacks the permission, is not a member of the workspace, or cannot enter it.',
    action: 'Do not retry. Ask an owner of the workspace for the permission.',
  },
  'ACCESS.PORTAL_MISMATCH': {
    cause: 'The access code is missing, wrong, or that of the other portal.',
    action: 'Send the access code of the portal in `X-PORTAL-ACCESS-CODE`.',
  },
  'ACCESS.IP_NOT_ALLOWED': {
    cause: 'The IP whitelist of the account, or the address list of the API key, excludes the client address.',
    action: 'Call from an allowed address, or change the list.',
  },
  'ACCESS.ORIGIN_NOT_ALLOWED': {
    cause:
      'A request with a session cookie, or a WebSocket handshake, comes from a page whose origin is neither that of `publicUrl` nor listed in `portals.<portal>.origins`.',
    action: 'Call from a page of the portal, or add the origin to the configuration.',
  },
  'ACCESS.STEP_UP_REQUIRED': {
    cause: 'The operation needs a second factor that was verified recently.',
    action:
      'Call `security/step-up/send` and `security/step-up` with the purpose of the request, then repeat it. Repeat a password reset with `mfaMethod` and `code`.',
  },
  'ACCESS.PAYOUT_HOLD': {
    cause:
      'The caller gained the permission to pay out less than `access.payoutHoldMs` ago, and would use or grant it. Or the caller became OWNER less than that ago, and would demote an older owner.',
    action: 'Wait for the time in `Retry-After`, or ask a member who has had the permission for longer.',
  },
  'AUTH.PENDING_APPROVAL': {
    cause: 'An operator has not yet approved the registration.',
    action: 'Wait for the mail about the decision.',
  },
  'AUTH.MFA_METHOD_NOT_ALLOWED': {
    cause: 'The account cannot use mailed codes (`portals.<portal>.mfa.mailCodes`).',
    action: 'Ask for a code of the authenticator app or a backup code.',
  },
  'AUTH.AUTHENTICATOR_REQUIRED': {
    cause:
      'The account needs an authenticator or a passkey, and has neither, nor backup codes. Also an attempt to remove the last one.',
    action: 'Ask an administrator to reset the second factor of the account.',
  },
  'AUTH.PASSKEY_INVALID': {
    cause:
      'The passkey is unknown, suspended or of another account. Or its challenge, signature, origin or relying party id is wrong. The log has the reason.',
    action:
      'Start again with new options. If it fails on every attempt, compare `passkeys.rpId` and `passkeys.origins` with the address of the page.',
  },
  'AUTH.PASSKEYS_NOT_AVAILABLE': {
    cause: 'The portal has no `passkeys` in its configuration.',
    action: 'Set `portals.<portal>.passkeys`, or do not offer passkeys.',
  },
  'ACCESS.PASSKEY_REQUIRED': {
    cause:
      'The portal requires a passkey for this operation (`mfa.required.passkey`), and the session or the step-up used another factor. A passkey that is not enrolled does not count.',
    action:
      'Sign in with an enrolled passkey, and step up with one. For the first one, an administrator runs `portico operator passkey`.',
  },
  'AUTH.PROVIDER_REFUSED': {
    cause:
      'The reply of the identity provider does not belong to this sign-in, its tokens are not valid, or the account is suspended. The log has the reason.',
    action:
      'Start the sign-in again. If it fails on every attempt, compare the settings of the provider with its console.',
  },
  'AUTH.PROVIDER_NOT_LINKED': {
    cause:
      'The person has no linked account, and the sign-in created none. Possible reasons: `provisioning` is `none`, the person was not invited, or the address is not verified or already has an account.',
    action: 'Sign in with a password and link the account, or ask an operator for an invitation.',
  },
  'AUTH.PROVIDER_UNAVAILABLE': {
    cause: 'The identity provider could not be reached, or refuses the client. The log has the reason.',
    action: 'Try again later, or sign in without the provider.',
  },
  'AUTH.REGISTRATION_CLOSED': {
    cause: 'The portal does not allow self-registration (`selfRegistration`).',
    action: 'Ask for an invitation or an account.',
  },
  'AUTH.SESSION_NOT_FOUND': {
    cause: 'The sign-in attempt, registration, refresh token or password link does not exist any more.',
    action: 'Start again: sign in, register, or request a new link.',
  },
  'RESOURCE.NOT_FOUND': {
    cause: 'The resource does not exist, or the caller cannot see it.',
    action: 'Check the id and the workspace.',
  },
  'ROUTE.NOT_FOUND': {
    cause: 'No operation has this path. Paths have one spelling.',
    action: 'Compare the path with `/openapi.json`.',
  },
  'ROUTE.METHOD_NOT_ALLOWED': {
    cause: 'The path exists with another method.',
    action: 'Use a method that the `Allow` header lists.',
  },
  'STATE.CONFLICT': {
    cause: 'The resource is in a state that does not allow the operation, or it would duplicate another one.',
    action: 'Read the resource again and decide. Do not retry unchanged.',
  },
  'EVENT.CURSOR_EXPIRED': {
    cause: 'The events behind the cursor are older than `events.retentionMs`, so they were deleted.',
    action: 'Read the present state of your objects. Then continue from the cursor in `X-Oldest-Cursor`.',
  },
  'REQUEST.TIMEOUT': {
    cause: 'The request arrived too slowly.',
    action: 'Retry on a faster connection.',
  },
  'REQUEST.IN_PROGRESS': {
    cause: 'A request with the same idempotency key is still running.',
    action: 'Wait, and repeat it with the same key and body. It then returns the first response.',
  },
  'REQUEST.TOO_LARGE': {
    cause: 'The body is larger than allowed.',
    action: 'Send a smaller body or file. See `requests.maxBodyBytes` and `files.purposes`.',
  },
  'REQUEST.UNSUPPORTED_MEDIA_TYPE': {
    cause: 'The content type or encoding of the body, or the detected type of a file, is not accepted.',
    action: 'Send `application/json` without compression, or a file type that its purpose accepts.',
  },
  'FILE.RANGE_NOT_SATISFIABLE': {
    cause: 'The `Range` of a download lies outside the file.',
    action: 'Use the size in `Content-Range`.',
  },
  'FILE.QUOTA_EXCEEDED': {
    cause: 'The stored files of the account or the workspace reach the maximum number or size.',
    action: 'Delete files, or ask the operator. See `files.quotas`.',
  },
  'REQUEST.ID_REUSED': {
    cause: 'The `Idempotency-Key`, or else the `X-Request-Id`, was already used for a request with another body.',
    action: 'Send a new key with each new command.',
  },
  'WALLET.INSUFFICIENT_FUNDS': {
    cause: 'The available balance is lower than the amount with its fee.',
    action: 'Choose a lower amount, or add funds first.',
  },
  'WALLET.NOT_ACTIVE': {
    cause: 'A wallet of the order is frozen or closed.',
    action: 'Choose another wallet, or ask the operator.',
  },
  'WALLET.LIMIT_EXCEEDED': {
    cause: 'The amount is below the minimum, above the maximum, or above what is left of a daily limit.',
    action: 'Choose an amount within the limits, or wait until earlier orders are older than 24 hours.',
  },
  'EXCHANGE.RATE_UNAVAILABLE': {
    cause: 'No current rate exists for the pair of currencies, or customers would gain in a cycle of rates with it.',
    action: 'Try again later, or choose another pair.',
  },
  'EXCHANGE.QUOTE_UNUSABLE': {
    cause: 'The quote has expired or was used.',
    action: 'Request a new quote.',
  },
  'CHANNEL.NOT_AVAILABLE': {
    cause: 'The recharge channel or payout account is disabled, not verified, or not offered for this currency.',
    action: 'Choose another channel.',
  },
  'WORKSPACE.LAST_OWNER': {
    cause: 'The workspace would lose its last owner who can act.',
    action: 'Make another member an owner first.',
  },
  'WORKSPACE.NOT_ACTIVE': {
    cause: 'The workspace is frozen.',
    action: 'Ask the operator to unfreeze it.',
  },
  'REQUEST.UPGRADE_REQUIRED': {
    cause:
      'The operation is a WebSocket, and the request is not an opening handshake: `Upgrade: websocket`, version 13, a valid key and no body.',
    action: 'Open the operation with a WebSocket client.',
  },
  'ACCESS.RATE_LIMITED': {
    cause: 'A limit is used up. `RateLimit-Policy` names it.',
    action: 'Wait for the seconds in `Retry-After`.',
  },
  'SYSTEM.INTERNAL_ERROR': {
    cause: 'A fault of Portico. The log has the stack.',
    action: 'Report it with the request id. Repeat a command only with the same key.',
  },
  'SYSTEM.NOT_IMPLEMENTED': {
    cause: 'No backend serves the operation.',
    action: 'Do not retry.',
  },
  'SYSTEM.UPSTREAM_INVALID_RESPONSE': {
    cause: 'A service behind Portico sent an invalid reply.',
    action: 'Report it with the request id. Repeat a command only with the same key.',
  },
  'SYSTEM.UNAVAILABLE': {
    cause: 'A dependency does not answer, a queue is full, or a circuit breaker is open.',
    action: retryLater,
  },
  'SYSTEM.UPSTREAM_TIMEOUT': {
    cause: 'A service behind Portico, or a handler of an extension, did not reply in time. The command may have run.',
    action: 'Retry with the same key.',
  },
}
