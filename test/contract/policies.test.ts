import { describe, expect, it } from 'vitest'
import { catalogue } from '../../src/contract/index.ts'
import {
  apiKeyPermissions,
  operatorPermissions,
  permissionTable,
  workspacePermissions,
} from '../../src/contract/permissions.ts'
import { impliedRefusals } from '../../src/contract/refusals.ts'
import type { ChainId } from '../../src/kernel/index.ts'
import { routes, routesOf } from './routes.ts'

const permissionsOn = (...chains: ChainId[]): Set<string> =>
  new Set(chains.flatMap(routesOf).flatMap((route) => route.operation.policy.permission ?? []))

describe('permissions', () => {
  it('every right that an operation asks for is in its portal’s table, and every right is asked for', () => {
    expect(permissionsOn('consumer', 'api')).toEqual(new Set(workspacePermissions))
    expect(permissionsOn('system')).toEqual(new Set(operatorPermissions))
    expect(permissionsOn('self', 'shared')).toEqual(new Set())
  })

  it('an API key can hold what the second chain asks for, and nothing that manages people or keys', () => {
    for (const code of permissionsOn('api')) expect(apiKeyPermissions).toContain(code)
    expect(apiKeyPermissions.filter((code) => /^(role|member|invitation|api-key|sandbox):(?!read)/.test(code))).toEqual(
      [],
    )
  })

  it('the tables’ rows agree with their codes and stand in order', () => {
    for (const rows of [permissionTable.workspace, permissionTable.operator]) {
      expect(rows.map((row) => `${row.group}:${row.action}`)).toEqual(rows.map((row) => row.code))
      const orders = rows.map((row) => row.sortOrder)
      expect(new Set(orders).size).toBe(orders.length)
      expect(orders.toSorted((a, b) => a - b)).toEqual(orders)
    }
  })
})

describe('policies', () => {
  it('an anonymous caller is asked for nothing that only an account has', () => {
    for (const { policy } of catalogue.filter((operation) => operation.policy.caller === 'anonymous')) {
      expect(policy).toMatchObject({ workspace: 'none', permission: null, stepUp: false, idempotent: false })
    }
  })

  it('reading is neither idempotency-keyed nor in need of a step-up', () => {
    for (const { policy } of catalogue.filter((operation) => operation.method === 'GET')) {
      expect(policy).toMatchObject({ stepUp: false, idempotent: false })
    }
  })

  it('every operator operation asks for a right', () => {
    const operators = routesOf('system').filter((route) => route.operation.chains.length === 1)
    expect(operators.filter((route) => route.operation.policy.permission === null)).toEqual([])
  })

  it('bytes and the channel’s own operations stay outside the secure channel; all else may use it', () => {
    const outside = catalogue.filter((operation) => operation.policy.channel === 'none').map(({ id }) => id)
    expect(outside.toSorted()).toEqual([
      'exports.download',
      'files.download',
      'files.upload',
      'recharges.downloadProof',
      'secureChannel.close',
      'secureChannel.open',
      'secureChannel.publicKey',
      'sessions.selfConfig',
    ])
  })

  it('a step-up is asked for where completions.md says so', () => {
    const steppedUp = catalogue.filter((operation) => operation.policy.stepUp).map(({ id }) => id)
    expect(steppedUp.toSorted()).toEqual([
      'apiKeys.create',
      'ipWhitelist.disable',
      'ipWhitelist.enable',
      'ipWhitelist.replace',
      'mfa.generateBackupCodes',
      'mfa.otpSetup',
      'password.change',
      'withdrawalChannels.create',
    ])
  })

  it('whatever may change somebody’s rights, or their default workspace, waits until nobody goes by those of before', () => {
    const changing = catalogue.filter((operation) => operation.policy.changesRights)
    expect(changing.filter(({ method }) => method !== 'POST')).toEqual([])
    expect(changing.map(({ id }) => id).toSorted()).toEqual([
      'apiKeys.create',
      'apiKeys.delete',
      'apiKeys.disable',
      'apiKeys.enable',
      'invitations.accept',
      'operators.approveAccount',
      'operators.freezeWorkspace',
      'operators.reactivateAccount',
      'operators.rejectAccount',
      'operators.suspendAccount',
      'operators.unfreezeWorkspace',
      'roles.changeMember',
      'roles.create',
      'roles.delete',
      'roles.setPermissions',
      'roles.update',
      'workspaces.create',
      'workspaces.leave',
      'workspaces.limitMember',
      'workspaces.setDefault',
    ])
  })

  it('no operation repeats what its policy implies on every chain', () => {
    const repeated = catalogue.filter((operation) =>
      operation.refuses.some((code) =>
        operation.chains.every((chain) => impliedRefusals(operation, chain).includes(code)),
      ),
    )
    expect(repeated.map(({ id }) => id)).toEqual([])
  })

  it('whatever is called, a GET too, can refuse a body that does not arrive in time', () => {
    const silent = routes.filter(
      ({ operation, chain }) => !impliedRefusals(operation, chain).includes('REQUEST.TIMEOUT'),
    )
    expect(silent.map(({ name }) => name)).toEqual([])
  })

  it('only the portal chains can refuse a portal or a sealed body', () => {
    for (const { operation, chain } of routes) {
      const implied = impliedRefusals(operation, chain)
      const portal = chain !== 'api' && chain !== 'self'
      expect(implied.includes('ACCESS.PORTAL_MISMATCH')).toBe(portal)
      if (!portal) expect(implied).not.toContain('SECURE_CHANNEL.INVALID_PAYLOAD')
    }
  })
})
