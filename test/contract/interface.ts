/** The interface by hand: method, path, workspace header (R, O, -, or * if unspecified), and observed errors. */
const VAL = 'VALIDATION.INVALID_PARAMETER'
const TOK = 'ACCESS.TOKEN_MISSING'
const NF = 'RESOURCE.NOT_FOUND'
const ISE = 'SYSTEM.INTERNAL_ERROR'
const abbreviations: Record<string, string> = { VAL, TOK, NF, ISE }

export interface InterfaceRow {
  method: string
  path: string
  workspace: 'none' | 'optional' | 'required' | 'unspecified'
  observed: string[]
}

const columns = { '-': 'none', O: 'optional', R: 'required', '*': 'unspecified' } as const

function isColumn(text: string): text is keyof typeof columns {
  return Object.hasOwn(columns, text)
}

function rows(prefix: string, table: string): InterfaceRow[] {
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [method = '', path = '', workspace = '', ...observed] = line.trim().split(/\s+/)
      if (!isColumn(workspace)) throw new Error(`a malformed row: ${line}`)
      return {
        method,
        path: prefix + path,
        workspace: columns[workspace],
        observed: observed.map((code) => abbreviations[code] ?? code),
      }
    })
}

export const webChain = rows(
  '/web/v1/consumer',
  `
  POST /auth/login/initiate - AUTH.INVALID_CREDENTIALS
  POST /auth/logout - TOK
  POST /auth/password/forgot - VAL
  POST /auth/register/initiate - VAL
  POST /auth/token/refresh - AUTH.SESSION_NOT_FOUND
  GET /secure-channel/public-key -
  POST /secure-channel/session - SECURE_CHANNEL.INVALID_PAYLOAD
  POST /secure-channel/session/close - ISE
  GET /security/ip-whitelist - TOK
  POST /security/ip-whitelist - VAL
  POST /security/ip-whitelist/enable - TOK
  POST /security/ip-whitelist/disable - TOK
  GET /security/mfa - TOK
  GET /security/mfa/backup-codes - TOK
  POST /security/mfa/backup-codes/generate - ISE
  POST /security/mfa/otp/setup - TOK
  POST /security/mfa/otp/verify - VAL
  POST /security/mfa/otp/revoke - VAL
  GET /security/sessions - TOK
  GET /security/sessions/config - TOK
  POST /security/sessions/config - TOK
  GET /security/sessions/history - TOK
  POST /security/sessions/terminate - VAL
  POST /security/sessions/terminate-all - TOK
  GET /profile - TOK
  POST /profile/update - TOK
  GET /profile/invitations - TOK
  POST /profile/invitations/accept - VAL
  POST /profile/invitations/decline - VAL
  GET /invitations O TOK
  POST /invitations O VAL
  POST /invitations/cancel O VAL
  GET /roles R TOK
  POST /roles O VAL
  POST /roles/update R VAL
  POST /roles/delete R VAL
  POST /roles/permissions R VAL
  POST /roles/members/role/change O VAL
  GET /roles/{role_id} R NF
  GET /roles/{role_id}/permissions R NF
  GET /roles/permissions/tree O TOK
  GET /api-keys O TOK
  POST /api-keys O VAL
  GET /api-keys/available-permissions R TOK
  POST /api-keys/delete R VAL
  POST /api-keys/disable R VAL
  POST /api-keys/enable R VAL
  GET /api-keys/{api_key_id} R NF
  POST /workspaces - VAL
  GET /workspaces/current O TOK
  POST /workspaces/current/default O TOK
  POST /workspaces/current/leave O TOK
  POST /workspaces/current/update O
  GET /workspaces/mine - TOK
  GET /exchanges O TOK
  POST /exchanges O VAL
  GET /exchanges/{exchange_id} R NF
  POST /exchanges/quote R VAL
  GET /recharges R TOK
  POST /recharges R VAL
  GET /recharges/available-channels R TOK
  GET /recharges/{recharge_id} R NF
  POST /recharges/{recharge_id}/cancel R NF
  POST /recharges/{recharge_id}/proof R NF
  POST /recharges/quote R VAL
  POST /transfer/command/create O VAL
  GET /transfer/query/orders O ISE
  GET /transfer/query/orders/{order_id} R NF
  GET /transfer/query/orders/{order_id}/completed R TOK
  GET /transfer/query/orders/wallet/{wallet_id} R
  GET /withdrawal-channels O TOK
  POST /withdrawal-channels O VAL
  GET /withdrawals O TOK
  POST /withdrawals O VAL
  GET /withdrawals/{withdrawal_id} R NF
  POST /withdrawals/{withdrawal_id}/cancel R NF
  GET /wallets O TOK
  GET /wallets/{wallet_id} R NF
  GET /wallets/{wallet_id}/balance R NF
  GET /wallets/{wallet_id}/flows R NF
  GET /files/{file_id} O NF
  GET /files/{file_id}/download O NF
  POST /files/upload O TOK
  GET /exports O TOK
  POST /exports O VAL
  GET /exports/{export_id} R NF
  GET /exports/{export_id}/download O NF
  GET /constants/countries -
  GET /constants/timezones -
  POST /sandbox/reset O TOK ACCESS.PERMISSION_DENIED
  `,
)

export const outsideTables = rows(
  '/web/v1',
  `
  POST /consumer/auth/login/mfa/send *
  POST /consumer/auth/login/complete *
  POST /consumer/auth/password/reset *
  POST /consumer/auth/password/init *
  POST /consumer/auth/password/change *
  GET /secure-channel/public-key *
  POST /secure-channel/session *
  POST /secure-channel/session/close *
  GET /users/self/security/sessions/config *
  `,
)

export const secondChain = rows(
  '/api/v1/consumer',
  `
  POST /transfer/command/create *
  GET /transfer/query/orders *
  GET /transfer/query/orders/wallet/{walletBizId} *
  GET /transfer/query/orders/{bizId} *
  GET /transfer/query/orders/{bizId}/completed *
  GET /wallets *
  GET /wallets/{walletBizId} *
  GET /wallets/{walletBizId}/balance *
  GET /wallets/{walletBizId}/flows *
  `,
)

/** Not specified by the interface. */
export const additions = [
  'POST /web/v1/consumer/roles/members/remove',
  'POST /web/v1/consumer/auth/register/verify-email',
  'POST /web/v1/consumer/auth/register/complete',
  'POST /web/v1/consumer/auth/factors/undo',
  'POST /web/v1/consumer/auth/browser-session',
  'GET /web/v1/consumer/auth/browser-session',
  'POST /web/v1/consumer/auth/browser-session/end',
  'POST /web/v1/consumer/auth/browser-session/ticket',
  'POST /web/v1/consumer/auth/register/passkey/options',
  'POST /web/v1/consumer/auth/register/passkey',
  'POST /web/v1/consumer/auth/passkey/options',
  'POST /web/v1/consumer/auth/passkey/verify',
  'POST /web/v1/consumer/auth/browser-session/passkey',
  'GET /web/v1/consumer/security/passkeys',
  'POST /web/v1/consumer/security/passkeys',
  'POST /web/v1/consumer/security/passkeys/options',
  'POST /web/v1/consumer/security/passkeys/rename',
  'POST /web/v1/consumer/security/passkeys/delete',
  'POST /web/v1/consumer/security/step-up/passkey',
  'GET /web/v1/consumer/auth/providers',
  'POST /web/v1/consumer/auth/provider/initiate',
  'POST /web/v1/consumer/auth/provider/complete',
  'POST /web/v1/consumer/auth/browser-session/provider',
  'GET /web/v1/consumer/security/providers',
  'POST /web/v1/consumer/security/providers/link/initiate',
  'POST /web/v1/consumer/security/providers/link',
  'POST /web/v1/consumer/security/providers/unlink',
  'POST /web/v1/consumer/security/providers/logout',
  'POST /web/v1/consumer/security/step-up/provider/initiate',
  'POST /web/v1/consumer/security/step-up/provider',
  'GET /web/v1/consumer/security/self',
  'POST /web/v1/consumer/security/step-up/send',
  'POST /web/v1/consumer/security/step-up',
  'POST /web/v1/consumer/invitations/confirm',
  'POST /web/v1/consumer/withdrawal-channels/{}/reactivate',
  'POST /web/v1/consumer/transfer/command/{}/cancel',
  'GET /web/v1/consumer/roles/members',
  'POST /web/v1/consumer/roles/members/restore',
  'GET /web/v1/consumer/roles/suspended',
  'POST /web/v1/consumer/roles/restore',
  'POST /web/v1/consumer/wallets',
  'POST /web/v1/consumer/files/{}/delete',
  'POST /web/v1/consumer/files/{}/link',
  'POST /web/v1/consumer/exports/{}/link',
  'GET /web/v1/consumer/exchanges/quote/{}',
  'GET /web/v1/consumer/events',
  'GET /api/v1/consumer/events',
  'GET /web/v1/consumer/events/stream',
  'GET /api/v1/consumer/events/stream',
  'GET /api/v1/system/audit-log',
  'GET /api/v1/system/audit-log/verify',
  'GET /api/v1/system/scim/v2/Users',
  'POST /api/v1/system/scim/v2/Users',
  'GET /api/v1/system/scim/v2/Users/{}',
  'PUT /api/v1/system/scim/v2/Users/{}',
  'PATCH /api/v1/system/scim/v2/Users/{}',
  'DELETE /api/v1/system/scim/v2/Users/{}',
  'GET /api/v1/system/scim/v2/Groups',
  'POST /api/v1/system/scim/v2/Groups',
  'GET /api/v1/system/scim/v2/Groups/{}',
  'PUT /api/v1/system/scim/v2/Groups/{}',
  'PATCH /api/v1/system/scim/v2/Groups/{}',
  'DELETE /api/v1/system/scim/v2/Groups/{}',
  'GET /api/v1/system/scim/v2/ServiceProviderConfig',
  'GET /api/v1/system/scim/v2/ResourceTypes',
  'GET /api/v1/system/scim/v2/Schemas',
  'GET /web/v1/consumer/webhooks',
  'GET /web/v1/consumer/webhooks/available-types',
  'GET /web/v1/consumer/webhooks/{}',
  'POST /web/v1/consumer/webhooks',
  'POST /web/v1/consumer/webhooks/update',
  'POST /web/v1/consumer/webhooks/rotate-secret',
  'POST /web/v1/consumer/webhooks/enable',
  'POST /web/v1/consumer/webhooks/disable',
  'POST /web/v1/consumer/webhooks/delete',
  'POST /web/v1/consumer/webhooks/test',
  'GET /web/v1/consumer/webhooks/{}/deliveries',
  'POST /web/v1/consumer/webhooks/resend',
  'POST /web/v1/consumer/webhooks/replay',
]
