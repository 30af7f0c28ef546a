import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, createSystemApiClient } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { needsAccount } from '../../src/testing/routes.ts'
import { withSecret } from '../banking/api-keys/fixture.ts'
import { routes } from '../harness/catalogue.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

const tokenInvalid = { status: 401, code: 'ACCESS.TOKEN_INVALID' }
const reason = 'test'

describe('API keys of operators', () => {
  let portico: Portico
  let operator: Client<'SYSTEM'>
  let checker: Client<'SYSTEM'>
  let key: { bizId: string; secret: string }
  let workspaceKey: string

  beforeAll(async () => {
    portico = await startPortico()
    operator = clientOf(portico, 'SYSTEM')
    checker = clientOf(portico, 'SYSTEM')
    await signInAs(portico, operator, 'operator@demo.test')
    await signInAs(portico, checker, 'checker@demo.test')
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const body = { apiKeyName: 'SIEM', permissionCodes: ['audit:read' as const], expiresAt }
    key = await withSecret(operator.createOperatorApiKey({ body }))
    await checker.enableOperatorApiKey({ params: { api_key_id: key.bizId }, body: { reason } })
    const owner = clientOf(portico, 'CONSUMER')
    await signInAs(portico, owner, 'owner@demo.test')
    const till = { apiKeyName: 'Till', permissionCodes: ['wallet:read' as const] }
    const created = owner.createApiKey({ workspaceId: developmentIds.workspace, body: till })
    workspaceKey = (await withSecret(created)).secret
  })
  afterAll(() => portico?.stop())

  const machine = (apiKey: string) => createSystemApiClient({ baseUrl: portico.url, apiKey })

  test('operators.listAuditLog and verifyAuditLog 200: a machine reads the log and notes its head', async () => {
    const client = machine(key.secret)
    const { items } = await client.listAuditLog({ query: { action: 'apiKeys.createForOperators' } })
    expect(items).toMatchObject([{ targetBizId: key.bizId, detail: { permissions: 'audit:read' } }])
    await expect.poll(async () => (await client.verifyAuditLog()).entriesChecked).toBeGreaterThan(0)
    const { head } = await client.verifyAuditLog()
    expect(await client.verifyAuditLog({ query: { head: `${head}` } })).toMatchObject({
      intact: true,
      expectedHead: 'FOUND',
    })
    for (const to of ['operator@demo.test', 'checker@demo.test'])
      expect((await portico.mailTo(to, 'apiKeys.operator-key')).text).toContain('SIEM (pok_')
  })

  test('any other operation 401 ACCESS.TOKEN_INVALID: an operator key reaches none, on every chain', async () => {
    const others = routes.filter((route) => needsAccount(route) && route.chainId !== 'systemApi')
    const reached: string[] = []
    for (const { name, method, path, operation } of others) {
      if (operation.reply === 'socket') continue
      const { status } = await portico.call(method as 'GET', path, { token: key.secret })
      if (status !== 401) reached.push(`${name} ${status}`)
    }
    expect([reached, others.length > 200]).toEqual([[], true])
  })

  test('the machine chain of operators 401 ACCESS.TOKEN_INVALID: with a key of a workspace, or a token', async () => {
    await expect(machine(workspaceKey).listAuditLog()).rejects.toMatchObject(tokenInvalid)
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    for (const path of ['/audit-log', '/audit-log/verify'])
      expect(await portico.call('GET', `/api/v1/system${path}`, { token }), path).toMatchObject({ status: 401 })
    expect(await portico.call('GET', '/web/v1/system/audit-log', { token })).toMatchObject({ status: 200 })
  })

  test('apiKeys.disableOfOperators 200: the key ends, and another operator enables it again', async () => {
    const params = { api_key_id: key.bizId }
    await operator.disableOperatorApiKey({ params, body: { reason } })
    await expect(machine(key.secret).listAuditLog()).rejects.toMatchObject(tokenInvalid)
    await expect(operator.enableOperatorApiKey({ params, body: { reason } })).rejects.toMatchObject({ status: 403 })
    await checker.enableOperatorApiKey({ params, body: { reason } })
    const { items } = await checker.listOperatorApiKeys({ query: { apiKeyStatus: 'ACTIVE' } })
    expect(items).toMatchObject([{ bizId: key.bizId, apiKeyName: 'SIEM' }])
    expect((await checker.deleteOperatorApiKey({ params, body: { reason } })).apiKeyStatus.code).toBe('DELETED')
    await expect(machine(key.secret).listAuditLog()).rejects.toMatchObject(tokenInvalid)
  })
})
