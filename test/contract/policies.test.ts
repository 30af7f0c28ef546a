import { describe, expect, it } from 'vitest'
import {
  apiKeyPermissions,
  catalogue,
  operatorPermissions,
  permissionTable,
  workspacePermissions,
} from '../../src/contract/index.ts'
import { listImpliedRefusals } from '../../src/contract/policies.ts'
import type { ChainId, Policy } from '../../src/kernel/index.ts'
import { ofScim, ofWebhooks } from './operation-names.ts'
import { routes, routesOf } from './routes.ts'

/** The message of a failure: the lists here are the second declaration of each policy, for reviews. */
const editHere = 'after a wanted change of a policy, edit this list in test/contract/policies.test.ts'
const editPermissions = 'edit `permissions` in the contract.ts of the domain'

function permissionsOn(...chains: ChainId[]): Set<string> {
  return new Set(chains.flatMap(routesOf).flatMap((route) => route.operation.policy.permission ?? []))
}

describe('permissions', () => {
  it('the table of a portal contains exactly the permissions that its operations require', () => {
    expect(permissionsOn('consumer', 'api'), editPermissions).toEqual(new Set(workspacePermissions))
    expect(permissionsOn('system', 'systemApi'), editPermissions).toEqual(new Set(operatorPermissions))
    expect(permissionsOn('self', 'shared')).toEqual(new Set())
  })

  it('an API key can hold the permissions of the machine chain, and none that manages people or keys', () => {
    for (const code of permissionsOn('api')) expect(apiKeyPermissions).toContain(code)
    expect(apiKeyPermissions.filter((code) => /^(role|member|invitation|api-key|sandbox):(?!read)/.test(code))).toEqual(
      [],
    )
  })

  it('the rows of the tables agree with their codes and are sorted', () => {
    for (const rows of [permissionTable.workspace, permissionTable.operator]) {
      expect(rows.map((row) => `${row.group}:${row.action}`)).toEqual(rows.map((row) => row.code))
      const orders = rows.map((row) => row.sortOrder)
      expect(new Set(orders).size).toBe(orders.length)
      expect(orders.toSorted((a, b) => a - b)).toEqual(orders)
    }
  })
})

function idsBy(keyOf: (policy: Policy) => string | null): Record<string, string[]> {
  const ids: Record<string, string[]> = {}
  for (const { id, policy } of catalogue) {
    const key = keyOf(policy)
    if (key !== null) ids[key] = [...(ids[key] ?? []), id].toSorted()
  }
  return ids
}

const [undone, updating] = ['delete deletePlatform disable disablePlatform', 'update updatePlatform']
const [rotating, platformSending] = ['rotatePlatformSecret rotateSecret', 'replayPlatform resendPlatform testPlatform']

describe('policies', () => {
  it('the operations of each permission', () => {
    expect(
      idsBy(({ permission }) => permission),
      editHere,
    ).toEqual({
      'account:approve': ['operators.approveAccount', 'operators.rejectAccount'],
      'account:read': ['operators.listAccounts', 'operators.readAccount'],
      'account:suspend': ['operators.reactivateAccount', 'operators.suspendAccount'],
      'api-key:end': ['apiKeys.deleteAny', 'apiKeys.disableAny', 'apiKeys.enableAny', 'apiKeys.listAll'],
      'operator-key:manage': [
        ...['apiKeys.createForOperators', 'apiKeys.deleteOfOperators'],
        ...['apiKeys.disableOfOperators', 'apiKeys.enableOfOperators'],
      ],
      'operator-key:read': ['apiKeys.listOfOperators'],
      'operator:manage': ['proposals.invite', 'proposals.proposePermissions', 'proposals.revokePermissions'],
      'operator:read': ['proposals.confirm', 'proposals.list', 'proposals.listOperators', 'proposals.reject'],
      'recovery:manage': ['proposals.proposeOwner', 'proposals.resetFactor'],
      'api-key:manage': ['apiKeys.create', 'apiKeys.delete', 'apiKeys.disable', 'apiKeys.enable'],
      'api-key:read': ['apiKeys.availablePermissions', 'apiKeys.list', 'apiKeys.read'],
      'audit:read': ['operators.listAuditLog', 'operators.verifyAuditLog'],
      'event:read': ['events.list', 'events.listAll', 'events.stream', 'events.streamAll'],
      'exchange-rate:manage': ['exchanges.confirmRate', 'exchanges.setRate', 'exchanges.unsetRate'],
      'exchange-rate:read': ['exchanges.listAll', 'exchanges.listRates'],
      'exchange:create': ['exchanges.create', 'exchanges.quote'],
      'exchange:read': ['exchanges.list', 'exchanges.read', 'exchanges.readQuote'],
      'export:create': ['exports.create'],
      'export:read': ['exports.download', 'exports.link', 'exports.list', 'exports.read'],
      'file:delete': ['files.delete'],
      'file:read': ['files.download', 'files.link', 'files.read'],
      'file:upload': ['files.upload'],
      'gateway:observe': ['observations.listRequests', 'observations.readOverview', 'observations.readRequest'],
      'invitation:manage': ['invitations.cancel', 'invitations.confirm', 'invitations.create'],
      'invitation:read': ['invitations.list'],
      'ledger:read': ['operators.ledgerInvariants', 'operators.orderPostings'],
      'member:limit': ['workspaces.limitMember'],
      'member:manage': ['roles.changeMember', 'roles.removeMember', 'roles.restoreMember'],
      'member:read': ['workspaces.listMembers'],
      'provisioning:manage': ofScim,
      'recharge:approve': ['allowReference', 'confirm', 'downloadProof', 'reject'].map((name) => `recharges.${name}`),
      'recharge:create': ['recharges.cancel', 'recharges.create', 'recharges.proof', 'recharges.quote'],
      'recharge:read': ['availableChannels', 'list', 'listAll', 'read', 'readAny'].map((name) => `recharges.${name}`),
      'role:manage': ['roles.create', 'roles.delete', 'roles.restore', 'roles.setPermissions', 'roles.update'],
      'role:read': ['roles.list', 'roles.listPermissions', 'roles.listSuspended', 'roles.permissionTree', 'roles.read'],
      'sandbox:reset': ['sandbox.reset'],
      'session:terminate': ['operators.terminateAccountSessions'],
      'transfer:approve': ['transfers.approve', 'transfers.reject'],
      'transfer:create': ['transfers.cancel', 'transfers.create'],
      'transfer:read': ['completed', 'list', 'listAll', 'listOfWallet', 'listPending', 'read', 'readAny'].map(
        (name) => `transfers.${name}`,
      ),
      'webhook:end': ofWebhooks('disableAny enableAny'),
      'webhook:manage': ofWebhooks(
        `create createPlatform ${undone} enable enablePlatform replay resend test ${platformSending} ${rotating} ${updating}`,
      ),
      'webhook:read': ofWebhooks('availableTypes list listAll listAllDeliveries listDeliveries read'),
      'wallet:close': ['wallets.close'],
      'wallet:create': ['wallets.create'],
      'wallet:freeze': ['wallets.freeze', 'wallets.unfreeze'],
      'wallet:read': ['wallets.balance', 'wallets.flows', 'wallets.list', 'wallets.read'],
      'withdrawal-channel:manage': ['withdrawalChannels.create', 'withdrawalChannels.reactivate'],
      'withdrawal-channel:read': ['withdrawalChannels.list', 'withdrawalChannels.listAll'],
      'withdrawal-channel:reveal': ['withdrawalChannels.reveal'],
      'withdrawal-channel:verify': ['withdrawalChannels.reject', 'withdrawalChannels.verify'],
      'withdrawal:approve': ['withdrawals.approve', 'withdrawals.reject'],
      'withdrawal:create': ['withdrawals.cancel', 'withdrawals.create'],
      'withdrawal:read': ['withdrawals.list', 'withdrawals.listAll', 'withdrawals.read', 'withdrawals.readAny'],
      'withdrawal:settle': ['withdrawals.complete', 'withdrawals.fail', 'withdrawals.return'],
      'workspace:freeze': ['operators.freezeWorkspace', 'operators.unfreezeWorkspace'],
      'workspace:read': [
        'operators.listWorkspaces',
        'wallets.listOf',
        'workspaces.current',
        'workspaces.listMembersOf',
      ],
      'workspace:update': ['workspaces.update'],
    })
  })

  it('money commands are idempotent by X-Request-Id', () => {
    expect(idsBy(({ idempotent }) => (idempotent ? 'idempotent' : null)).idempotent, editHere).toEqual([
      'exchanges.create',
      'recharges.allowReference',
      'recharges.cancel',
      'recharges.confirm',
      'recharges.create',
      'recharges.proof',
      'recharges.reject',
      'transfers.approve',
      'transfers.cancel',
      'transfers.create',
      'transfers.reject',
      'withdrawalChannels.create',
      'withdrawals.approve',
      'withdrawals.cancel',
      'withdrawals.complete',
      'withdrawals.create',
      'withdrawals.fail',
      'withdrawals.reject',
      'withdrawals.return',
    ])
  })

  it('the operations of each limit group: sign-in, secrets, mails, exports and money', () => {
    const { general: _everythingElse, money, ...groups } = idsBy(({ rate }) => rate)
    expect(groups, editHere).toEqual({
      channelOpen: ['secureChannel.open'],
      export: ['exports.create'],
      forgot: ['password.forgot'],
      login: [
        ...['auth.loginInitiate', 'auth.passkeyVerify', 'auth.providerComplete'],
        ...['auth.providerInitiate', 'browserSessions.startWithPasskey', 'browserSessions.startWithProvider'],
        ...['mfa.otpRevoke', 'mfa.otpVerify', 'mfa.stepUp', 'mfa.stepUpPasskeyOptions', 'passkeys.register'],
        ...['providers.link', 'providers.linkInitiate', 'providers.stepUp', 'providers.stepUpInitiate'],
        ...['registration.passkey', 'registration.passkeyOptions'],
      ],
      mfaSend: ['auth.mfaSend', 'mfa.stepUpSend'],
      passkeyOptions: ['auth.passkeyOptions'],
      password: ['password.change', 'password.init', 'password.reset', 'password.undoFactors'],
      provisioning: ofScim,
      refresh: ['auth.refresh'],
      registration: ['registration.initiate'],
      reveal: ['withdrawalChannels.reveal'],
      webhookReplay: ofWebhooks('replay replayPlatform'),
      webhookSend: ofWebhooks('resend resendPlatform test testPlatform'),
    })
    const commands = idsBy(({ idempotent }) => (idempotent ? 'idempotent' : null)).idempotent ?? []
    expect(money).toEqual([...commands, 'exchanges.quote', 'recharges.quote'].toSorted())
  })

  it('anonymous operations require no workspace, permission or step-up', () => {
    for (const { policy, describesCaller } of catalogue.filter(({ policy: { caller } }) => caller === 'anonymous')) {
      expect(policy).toMatchObject({ permission: null, stepUp: false, idempotent: false })
      // The cookie can name a caller.
      if (!describesCaller) expect(policy.workspace).toBe('none')
    }
  })

  it('GET operations are not idempotent commands and require no step-up', () => {
    for (const { policy } of catalogue.filter((operation) => operation.method === 'GET')) {
      expect(policy).toMatchObject({ stepUp: false, idempotent: false })
    }
  })

  it('workspace operations require a permission, except leaving it, choosing the default, and reading the session', () => {
    const open = catalogue.filter(({ policy }) => policy.workspace !== 'none' && policy.permission === null)
    expect(open.map(({ id }) => id).toSorted(), editHere).toEqual([
      'browserSessions.read',
      'browserSessions.ticket',
      'sessions.self',
      'workspaces.leave',
      'workspaces.setDefault',
    ])
  })

  it('operator operations require a permission', () => {
    const operators = routesOf('system').filter((route) => route.operation.chains.length === 1)
    expect(operators.filter((route) => route.operation.policy.permission === null)).toEqual([])
  })

  it('all operations can use the secure channel, except byte streams and those of the channel itself', () => {
    const excluded = catalogue.filter((operation) => operation.policy.channel === 'none').map(({ id }) => id)
    expect(excluded.toSorted(), editHere).toEqual([
      ...['events.stream', 'events.streamAll', 'exports.download', 'files.download', 'files.upload'],
      ...ofScim,
      ...[
        'recharges.downloadProof',
        'secureChannel.close',
        'secureChannel.open',
        'secureChannel.publicKey',
        'sessions.selfConfig',
      ],
    ])
  })

  it('the permissions that are powers, and those that move money', () => {
    const codesThat = (scope: 'workspace' | 'operator', mark: 'isPower' | 'isPayout') =>
      permissionTable[scope].flatMap((row) => (row[mark] ? [row.code] : [])).toSorted()
    expect(codesThat('workspace', 'isPayout'), editHere).toEqual([
      'transfer:create',
      'withdrawal-channel:manage',
      'withdrawal:create',
    ])
    expect(codesThat('workspace', 'isPower'), editHere).toEqual([
      'api-key:manage',
      'invitation:manage',
      'member:manage',
      'role:manage',
      'transfer:create',
      'webhook:manage',
      'withdrawal-channel:manage',
      'withdrawal:create',
    ])
    const powers = codesThat('operator', 'isPower')
    const others = permissionTable.operator.map(({ code }) => code).filter((code) => !powers.includes(code))
    expect(others.filter((code) => !/:(read|observe)$/.test(code))).toEqual([])
  })

  it('the operations that require step-up', () => {
    const steppedUp = catalogue.filter((operation) => operation.policy.stepUp === true).map(({ id }) => id)
    expect(steppedUp.toSorted(), editHere).toEqual([
      ...['apiKeys.create', 'apiKeys.createForOperators', 'apiKeys.deleteAny', 'apiKeys.deleteOfOperators'],
      ...['apiKeys.disableAny', 'apiKeys.disableOfOperators', 'apiKeys.enable', 'apiKeys.enableAny'],
      'apiKeys.enableOfOperators',
      ...['exchanges.confirmRate', 'exchanges.setRate', 'exchanges.unsetRate', 'invitations.confirm'],
      'ipWhitelist.disable',
      'ipWhitelist.enable',
      'ipWhitelist.replace',
      ...['mfa.generateBackupCodes', 'mfa.otpSetup', 'operators.approveAccount'],
      'operators.freezeWorkspace',
      'operators.reactivateAccount',
      'operators.rejectAccount',
      'operators.suspendAccount',
      'operators.terminateAccountSessions',
      'operators.unfreezeWorkspace',
      ...['passkeys.delete', 'passkeys.options', 'password.change'],
      ...['proposals.confirm', 'proposals.invite'],
      'proposals.proposeOwner',
      'proposals.proposePermissions',
      'proposals.reject',
      'proposals.resetFactor',
      'proposals.revokePermissions',
      ...['providers.linkInitiate', 'providers.unlink'],
      ...['recharges.allowReference', 'recharges.confirm', 'recharges.reject'],
      'roles.changeMember',
      'roles.removeMember',
      'roles.restore',
      'roles.restoreMember',
      'roles.setPermissions',
      'transfers.approve',
      'transfers.reject',
      'wallets.close',
      'wallets.freeze',
      'wallets.unfreeze',
      ...ofWebhooks(`create createPlatform disableAny enable enableAny enablePlatform ${platformSending} ${rotating}`),
      'withdrawalChannels.create',
      'withdrawalChannels.reactivate',
      'withdrawalChannels.reject',
      'withdrawalChannels.reveal',
      'withdrawalChannels.verify',
      'withdrawals.approve',
      'withdrawals.complete',
      'withdrawals.fail',
      'withdrawals.reject',
      'withdrawals.return',
      'workspaces.limitMember',
    ])
  })

  it('the operations whose handler decides whether a request requires step-up', () => {
    const deciding = catalogue.filter((operation) => operation.policy.stepUp === 'maybe').map(({ id }) => id)
    expect(deciding.toSorted(), editHere).toEqual([
      'apiKeys.delete',
      'apiKeys.disable',
      'invitations.create',
      'mfa.otpRevoke',
      'roles.create',
      'roles.delete',
      'roles.update',
      'transfers.create',
      ...ofWebhooks(`${undone} ${updating}`),
      'withdrawals.create',
      'workspaces.leave',
    ])
  })

  it('every command of operators requires step-up, because it gives or takes what belongs to others', () => {
    const commands = catalogue.filter(({ chains, method }) => method !== 'GET' && chains[0] === 'system')
    expect(commands.filter(({ policy }) => !policy.stepUp).map(({ id }) => id)).toEqual([])
    expect(commands.map(({ id }) => id)).toContain('operators.terminateAccountSessions')
  })

  it('operations that change permissions or the default workspace invalidate cached access', () => {
    const changing = catalogue.filter((operation) => operation.policy.changesRights)
    expect(changing.filter(({ method }) => method !== 'POST')).toEqual([])
    expect(changing.map(({ id }) => id).toSorted(), editHere).toEqual([
      'apiKeys.create',
      'apiKeys.delete',
      'apiKeys.deleteAny',
      'apiKeys.disable',
      'apiKeys.disableAny',
      'apiKeys.enable',
      'apiKeys.enableAny',
      'invitations.accept',
      'operators.approveAccount',
      'operators.freezeWorkspace',
      'operators.reactivateAccount',
      'operators.rejectAccount',
      'operators.suspendAccount',
      'operators.terminateAccountSessions',
      'operators.unfreezeWorkspace',
      'password.change',
      'password.reset',
      'password.undoFactors',
      'proposals.confirm',
      'roles.changeMember',
      'roles.create',
      'roles.delete',
      'roles.removeMember',
      'roles.restore',
      'roles.restoreMember',
      'roles.setPermissions',
      'roles.update',
      'workspaces.create',
      'workspaces.leave',
      'workspaces.limitMember',
      'workspaces.setDefault',
    ])
  })

  it('no operation declares a refusal that its policy already implies', () => {
    const repeated = catalogue.filter((operation) =>
      operation.refuses.some((code) =>
        operation.chains.every((chain) => listImpliedRefusals(operation, chain).includes(code)),
      ),
    )
    expect(repeated.map(({ id }) => id)).toEqual([])
  })

  it('every operation, GET included, can refuse a slow body', () => {
    const missing = routes.filter(
      ({ operation, chain }) => !listImpliedRefusals(operation, chain).includes('REQUEST.TIMEOUT'),
    )
    expect(missing.map(({ name }) => name)).toEqual([])
  })

  it('only portal chains can refuse a portal mismatch or a sealed body', () => {
    for (const { operation, chain } of routes) {
      const implied = listImpliedRefusals(operation, chain)
      const portal = !['api', 'systemApi', 'self'].includes(chain)
      expect(implied.includes('ACCESS.PORTAL_MISMATCH')).toBe(portal)
      if (!portal) expect(implied).not.toContain('SECURE_CHANNEL.INVALID_PAYLOAD')
    }
  })
})
