import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entra as fromEntra, okta as fromOkta } from '../../banking/provisioning/requests.ts'
import { signInOnly } from '../../harness/sign-in.ts'
import { createScim, type ScimWorld, startScimWorld } from '../scim-world.ts'

const reason = 'test'
const denied = { status: 403, body: { code: 'ACCESS.PERMISSION_DENIED' } }

describe('the rights of provisioned operators', () => {
  let world: ScimWorld
  beforeAll(async () => {
    world = await startScimWorld()
  })
  afterAll(() => world?.portico.stop())

  const rightsOf = async (id: string) => {
    const { items } = await world.operator.listOperators({ query: { pageSize: 100 } })
    return items.find(({ bizId }) => bizId === id)?.permissionCodes ?? []
  }
  const proposalOf = async (id: string) => {
    const { items } = await world.operator.listProposals({ query: { proposalStatus: 'PENDING', pageSize: 100 } })
    return items.find(({ subjectBizId }) => subjectBizId === id)
  }
  const createPerson = async (name: string): Promise<string> =>
    (await world.entra.call('POST', '/Users', fromEntra.createUser(name))).body.id
  const confirm = async (id: string) => {
    const proposal = await proposalOf(id)
    return world.checker.confirmProposal({ params: { proposal_id: proposal?.bizId ?? '' } })
  }
  let auditors: string
  beforeAll(async () => {
    auditors = (await world.entra.call('POST', '/Groups', fromEntra.createGroup('Auditors'))).body.id
  })
  const patchAuditors = (body: object) => world.entra.call('PATCH', `/Groups/${auditors}`, body)
  const createAuditor = async (name: string): Promise<string> => {
    const id = await createPerson(name)
    await patchAuditors(fromEntra.addMember(id))
    await confirm(id)
    return id
  }

  /** Gives the person the password of the other operators. */
  const tokenOf = async (id: string, name: string): Promise<string> => {
    const { portico } = world
    await sql`UPDATE accounts SET password_hash =
      (SELECT password_hash FROM accounts WHERE email_canonical = 'operator@demo.test')
      WHERE biz_id = ${id}`.execute(portico.running.database)
    return (await signInOnly(portico, `${name}@corp.example`, {}, undefined, 'system')).accessToken
  }
  const readLog = async (token: string) =>
    (await world.portico.call('GET', '/web/v1/system/audit-log', { token })).status

  test('provisioning.patchGroup 204: a new member gets a proposal, and permissions only from an operator', async () => {
    const id = await createPerson('joins')
    const added = await patchAuditors(fromEntra.addMember(id))
    expect(added).toMatchObject({ status: 204, text: '' })
    expect(await rightsOf(id)).toEqual([])
    expect(await proposalOf(id)).toMatchObject({ proposedBy: null })
    // The same change proposes nothing again.
    await patchAuditors(fromEntra.addMember(id))
    await confirm(id)
    const rights = await rightsOf(id)
    expect(rights).toContain('audit:read')
    expect(rights.filter((code) => !code.endsWith(':read'))).toEqual(['gateway:observe'])
    for (const shape of [fromEntra.legacyRemoveMember, fromEntra.flaggedRemoveMember]) {
      await patchAuditors(shape(id))
      expect(await rightsOf(id)).toEqual([])
      expect(await proposalOf(id)).toBeUndefined()
      await patchAuditors(fromEntra.addMember(id))
      expect(await rightsOf(id)).toEqual([])
      await confirm(id)
      expect(await rightsOf(id)).toEqual(rights)
    }
    const { body } = await world.entra.call('GET', `/Groups/${auditors}`)
    expect(body.members).toContainEqual({ value: id, display: 'joins@corp.example', type: 'User' })
    const without = await world.entra.call('GET', `/Groups/${auditors}?excludedAttributes=members`)
    expect(without.body).not.toHaveProperty('members')
    const filter = encodeURIComponent(`id eq "${auditors}" and members eq "${id}"`)
    expect(await world.entra.call('GET', `/Groups?filter=${filter}`)).toMatchObject({ body: { totalResults: 1 } })
  })

  test('provisioning.patchGroup, replaceGroup and deleteGroup 204 and 200: the shapes of Okta', async () => {
    const { okta } = world
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async (name) => (await okta.call('POST', '/Users', fromOkta.createUser(name))).body.id),
    )
    const { body: group } = await okta.call('POST', '/Groups', fromOkta.createGroup('okta-approvers'))
    const members = async () => {
      const { body } = await okta.call('GET', `/Groups/${group.id}`)
      return body.members.map(({ value }: { value: string }) => value)
    }
    const patch = (body: object) => okta.call('PATCH', `/Groups/${group.id}`, body)
    await patch(fromOkta.replaceMembers(one))
    expect(await members()).toEqual([one])
    await patch(fromOkta.changeMembers(one, two))
    expect(await members()).toEqual([two])
    await confirm(two)
    expect(await rightsOf(two)).toContain('withdrawal:approve')
    // Another name maps to no role.
    await patch(fromOkta.renameGroup(group.id, 'Others'))
    expect(await rightsOf(two)).toEqual([])
    const body = { displayName: 'okta-approvers', members: [{ value: two }] }
    expect(await okta.call('PUT', `/Groups/${group.id}`, body)).toMatchObject({ status: 200 })
    await confirm(two)
    expect(await okta.call('DELETE', `/Groups/${group.id}`)).toMatchObject({ status: 204 })
    expect(await rightsOf(two)).toEqual([])
  })

  test('provisioning.patchUser 200: active false ends the sessions on every replica, and true gives no permissions', async () => {
    const { portico, entra, operator } = world
    const id = await createAuditor('leaves')
    const token = await tokenOf(id, 'leaves')
    const read = () => readLog(token)
    for (const _ of portico.urls) expect(await read()).toBe(200)
    expect(await entra.call('PATCH', `/Users/${id}`, fromEntra.legacyDisable)).toMatchObject({ status: 200 })
    for (const _ of portico.urls) await expect.poll(read, { timeout: 2_000 }).toBe(401)
    expect(await rightsOf(id)).toEqual([])
    expect(await operator.readAccount({ params: { account_id: id } })).toMatchObject({
      accountStatus: { code: 'SUSPENDED' },
    })
    await entra.call('PATCH', `/Users/${id}`, fromEntra.legacyEnable)
    expect(await rightsOf(id)).toEqual([])
    expect(await read()).toBe(401)
    await confirm(id)
    expect(await rightsOf(id)).toContain('audit:read')
  })

  test('provisioning.patchUser 200: a new address or external id removes the permissions until they are confirmed', async () => {
    const { entra } = world
    const id = await createAuditor('moves')
    const token = await tokenOf(id, 'moves')
    await entra.call('PATCH', `/Users/${id}`, fromEntra.legacyReplace)
    expect(await readLog(token)).toBe(200)
    for (const [path, value] of [
      ['emails[type eq "work"].value', 'elsewhere@corp.example'],
      ['externalId', 'somebody-else'],
    ]) {
      await entra.call('PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', path, value }] })
      expect(await rightsOf(id), path).toEqual([])
      await confirm(id)
      expect(await rightsOf(id), path).toContain('audit:read')
      await expect.poll(() => readLog(token)).toBe(401)
    }
  })

  test('a person of the provider cannot confirm their own rights, nor grant what they lack', async () => {
    const { portico, entra } = world
    const auditor = await createAuditor('conspirator')
    const { body: admins } = await entra.call('POST', '/Groups', fromEntra.createGroup('Admins'))
    await entra.call('PATCH', `/Groups/${admins.id}`, fromEntra.addMember(auditor))
    const token = await tokenOf(auditor, 'conspirator')
    const proposal = await proposalOf(auditor)
    const path = `/web/v1/system/proposals/${proposal?.bizId}/confirm`
    expect((await portico.call('POST', path, { token })).status).toBe(403)
    expect(await rightsOf(auditor)).not.toContain('operator:manage')
  })

  test('provisioning.patchUser 409 STATE.CONFLICT: never suspends the last operator who can manage operators', async () => {
    const { portico, entra, checker, operator } = world
    const id = await createPerson('manager')
    const { body: admins } = await entra.call('GET', '/Groups?filter=displayName%20eq%20%22Admins%22')
    const group = admins.Resources[0].id
    await entra.call('PATCH', `/Groups/${group}`, fromEntra.addMember(id))
    await confirm(id)
    expect(await rightsOf(id)).toContain('operator:manage')
    const local = [await operator.readProfile(), await checker.readProfile()].map(({ bizId }) => bizId)
    const strip = (from: string, to: string) =>
      sql`UPDATE accounts SET operator_permissions = array_replace(operator_permissions, ${from}, ${to})
        WHERE biz_id = ANY (${local}::uuid[])`.execute(portico.running.database)
    await strip('operator:manage', 'operator:managed')
    const refused = { status: 409, body: { code: 'STATE.CONFLICT' } }
    expect(await entra.call('PATCH', `/Users/${id}`, fromEntra.disable)).toMatchObject(refused)
    expect(await entra.call('DELETE', `/Users/${id}`)).toMatchObject(refused)
    expect(await entra.call('PATCH', `/Groups/${group}`, fromEntra.legacyRemoveMember(id))).toMatchObject(refused)
    expect(await entra.call('DELETE', `/Groups/${group}`)).toMatchObject(refused)
    await strip('operator:managed', 'operator:manage')
    expect(await rightsOf(id)).toContain('operator:manage')
    expect(await entra.call('PATCH', `/Users/${id}`, fromEntra.disable)).toMatchObject({ status: 200 })
  })

  test('in parallel: one of several creations succeeds, and one of the last two managers stays', async () => {
    const { portico, entra, okta, checker, operator } = world
    const created = await Promise.all([1, 2, 3].map(() => entra.call('POST', '/Users', fromEntra.createUser('twice'))))
    expect(created.map(({ status }) => status).toSorted()).toEqual([201, 409, 409])
    const one = created.find(({ status }) => status === 201)?.body.id
    const two = (await okta.call('POST', '/Users', fromOkta.createUser('manager2'))).body.id
    const local = [await operator.readProfile(), await checker.readProfile()].map(({ bizId }) => bizId)
    const { database } = portico.running
    await sql`UPDATE accounts SET operator_permissions = '{operator:manage}'
      WHERE biz_id = ANY (${[one, two]}::uuid[])`.execute(database)
    const strip = (from: string, to: string) =>
      sql`UPDATE accounts SET operator_permissions = array_replace(operator_permissions, ${from}, ${to})
        WHERE biz_id = ANY (${local}::uuid[])`.execute(database)
    await strip('operator:manage', 'operator:managed')
    const ended = await Promise.all([
      entra.call('PATCH', `/Users/${one}`, fromEntra.disable),
      okta.call('PATCH', `/Users/${two}`, fromOkta.deactivate),
    ])
    await strip('operator:managed', 'operator:manage')
    expect(ended.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })

  test('apiKeys.createForOperators 400: a key that provisions belongs to one provider and does nothing else', async () => {
    const { operator, entra } = world
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const provisioning = 'provisioning:manage' as const
    const create = (body: { permissionCodes: ('provisioning:manage' | 'audit:read')[]; providerId?: string }) =>
      operator.createOperatorApiKey({ body: { apiKeyName: 'Bad', expiresAt, ...body } })
    const invalid = { status: 400, code: 'VALIDATION.INVALID_PARAMETER' }
    await expect(create({ permissionCodes: [provisioning] })).rejects.toMatchObject(invalid)
    await expect(create({ permissionCodes: [provisioning], providerId: 'none' })).rejects.toMatchObject(invalid)
    await expect(create({ permissionCodes: ['audit:read'], providerId: 'entra' })).rejects.toMatchObject(invalid)
    const both = { permissionCodes: [provisioning, 'audit:read' as const], providerId: 'entra' }
    await expect(create(both)).rejects.toMatchObject(invalid)
    const { status } = await world.portico.call('GET', '/api/v1/system/audit-log', { token: entra.secret })
    expect(status).toBe(403)
  })

  test('every SCIM operation 401 and 403: the key ends, or its creator loses the right', async () => {
    const { operator, checker, portico, entra } = world
    const key = await createScim(world, 'entra', 'Second')
    const id = await createPerson('after')
    const creator = (await operator.readProfile()).bizId
    await checker.revokeOperatorPermissions({
      params: { account_id: creator },
      body: { permissionCodes: ['provisioning:manage'], reason },
    })
    expect(await key.call('PATCH', `/Users/${id}`, fromEntra.disable)).toMatchObject(denied)
    await sql`UPDATE accounts SET operator_permissions = operator_permissions || '{provisioning:manage}'
      WHERE biz_id = ${creator}`.execute(portico.running.database)
    expect(await key.call('GET', `/Users/${id}`)).toMatchObject({ status: 200 })
    await checker.disableOperatorApiKey({ params: { api_key_id: key.keyId }, body: { reason } })
    expect(await key.call('GET', `/Users/${id}`)).toMatchObject({ status: 401 })
    expect(await entra.call('GET', `/Users/${id}`)).toMatchObject({ status: 200 })
  })
})
