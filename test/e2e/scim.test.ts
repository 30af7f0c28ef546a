import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entra as fromEntra, okta as fromOkta } from '../banking/provisioning/requests.ts'
import { callScim, type ScimWorld, startScimWorld } from './scim-world.ts'

describe('provisioning with SCIM', () => {
  let world: ScimWorld
  beforeAll(async () => {
    world = await startScimWorld()
  })
  afterAll(() => world?.portico.stop())

  test('provisioning.createUser 201: Entra ID creates an operator without permissions, and finds it', async () => {
    const { entra, operator } = world
    const created = await entra.call('POST', '/Users', fromEntra.createUser('ann'))
    expect(created).toMatchObject({
      status: 201,
      body: {
        schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
        externalId: 'entra-ann',
        userName: 'ann@corp.example',
        active: true,
        name: { formatted: 'ann Meyer', familyName: 'Meyer', givenName: 'ann' },
        emails: [{ value: 'ann@corp.example', type: 'work', primary: true }],
        meta: { resourceType: 'User' },
      },
    })
    const { id, meta } = created.body
    for (const path of ['/Bulk', '/Unknown', '/Users/a/b']) {
      const unknown = await entra.call('POST', path, {})
      expect(unknown.headers.get('content-type'), path).toBe('application/scim+json')
      const schemas = ['urn:ietf:params:scim:api:messages:2.0:Error']
      expect(unknown, path).toMatchObject({ status: 404, body: { schemas, status: '404', code: 'ROUTE.NOT_FOUND' } })
    }
    expect(created.headers.get('content-type')).toBe('application/scim+json')
    expect(created.headers.get('location')).toBe(meta.location)
    expect(await entra.call('GET', `/Users/${id}`)).toMatchObject({ status: 200, body: created.body })
    const filters = [
      'userName eq "ANN@corp.example"',
      'externalId eq "entra-ann"',
      'emails[type eq "work"].value eq "ann@corp.example"',
      `id eq "${id}" and active eq true`,
      'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ann@corp.example"',
    ]
    for (const filter of filters) {
      const found = await entra.call('GET', `/Users?filter=${encodeURIComponent(filter)}&startIndex=1&count=100`)
      expect(found, filter).toMatchObject({ status: 200, body: { totalResults: 1, Resources: [{ id }] } })
    }
    const none = await entra.call('GET', `/Users?filter=${encodeURIComponent('userName eq "nobody"')}`)
    expect(none.body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      ...{ totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] },
    })
    const { items } = await operator.listOperators({ query: { accountEmail: 'ann@corp.example' } })
    expect(items).toMatchObject([{ bizId: id, permissionCodes: [], accountStatus: { code: 'ACTIVE' } }])
    const { items: entries } = await operator.listAuditLog({ query: { targetId: id } })
    expect(entries).toMatchObject([
      {
        action: 'provisioning.createUser',
        detail: { provider: 'entra', apiKey: entra.keyId, change: 'created', status: 'ACTIVE' },
      },
    ])
  })

  test('provisioning.createUser 409: an address, a name or an external id is taken, in parallel requests too', async () => {
    const { entra, okta } = world
    const taken = { status: 409, body: { status: '409', scimType: 'uniqueness', code: 'PROVISIONING.NOT_UNIQUE' } }
    const requests = Array.from({ length: 4 }, () => entra.call('POST', '/Users', fromEntra.createUser('race')))
    const answers = await Promise.all(requests)
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409])
    expect(answers.find(({ status }) => status === 409)).toMatchObject(taken)
    const own = fromEntra.createUser('race')
    const mail = [{ value: 'race2@corp.example', type: 'work' }]
    expect(await entra.call('POST', '/Users', { ...own, externalId: 'other', emails: mail })).toMatchObject(taken)
    expect(await entra.call('POST', '/Users', { ...own, userName: 'race2', emails: mail })).toMatchObject(taken)
    // Neither a local operator nor the person of another provider.
    const local = { ...own, externalId: 'x', userName: 'x', emails: [{ value: 'checker@demo.test', type: 'work' }] }
    expect(await entra.call('POST', '/Users', local)).toMatchObject(taken)
    expect(await okta.call('POST', '/Users', { ...own, externalId: 'x', userName: 'x' })).toMatchObject(taken)
  })

  test('every operation on a person 404: another provider sees neither the person nor a local operator', async () => {
    const { entra, okta, checker } = world
    const { body: person } = await entra.call('POST', '/Users', fromEntra.createUser('hidden'))
    const local = (await checker.readProfile()).bizId
    const unknown = { status: 404, body: { status: '404', code: 'RESOURCE.NOT_FOUND' } }
    for (const id of [person.id, local]) {
      expect(await okta.call('GET', `/Users/${id}`), id).toMatchObject(unknown)
      expect(await okta.call('PATCH', `/Users/${id}`, fromOkta.deactivate), id).toMatchObject(unknown)
      expect(await okta.call('PUT', `/Users/${id}`, fromOkta.replaceUser(id, 'x', false)), id).toMatchObject(unknown)
      expect(await okta.call('DELETE', `/Users/${id}`), id).toMatchObject(unknown)
    }
    const { body: list } = await okta.call('GET', '/Users')
    expect(JSON.stringify(list)).not.toContain(person.id)
    const { body: group } = await entra.call('POST', '/Groups', fromEntra.createGroup('Hidden'))
    expect(await okta.call('GET', `/Groups/${group.id}`)).toMatchObject(unknown)
    expect(await okta.call('PATCH', `/Groups/${group.id}`, fromEntra.renameGroup('Mine'))).toMatchObject(unknown)
    const stranger = await okta.call('POST', '/Groups', fromOkta.createGroup('Strangers'))
    for (const id of [person.id, local])
      expect(await okta.call('PATCH', `/Groups/${stranger.body.id}`, fromEntra.addMember(id))).toMatchObject({
        status: 400,
        body: { scimType: 'invalidValue' },
      })
  })

  test('provisioning.patchUser 200: every published shape of Entra ID and Okta', async () => {
    const { entra, okta } = world
    const { body: ann } = await entra.call('POST', '/Users', fromEntra.createUser('shapes'))
    const patch = async (body: object) => (await entra.call('PATCH', `/Users/${ann.id}`, body)).body
    expect(await patch(fromEntra.updateMultiValued)).toMatchObject({
      emails: [{ value: 'updated@corp.example' }],
      name: { givenName: 'shapes', familyName: 'Updated' },
    })
    expect(await patch(fromEntra.updateSingleValued)).toMatchObject({ userName: 'renamed@corp.example' })
    expect(await patch(fromEntra.legacyReplace)).toMatchObject({
      displayName: 'Pat Voss',
      name: { givenName: 'Pat', familyName: 'Voss' },
    })
    expect(await patch(fromEntra.flaggedReplace)).toMatchObject({
      displayName: 'Kim Una',
      name: { givenName: 'Kim', familyName: 'Una' },
    })
    expect(await patch(fromEntra.legacyAdd)).not.toHaveProperty('nickName')
    expect(await patch(fromEntra.disable)).toMatchObject({ active: false })
    expect(await patch(fromEntra.legacyEnable)).toMatchObject({ active: true })
    expect(await patch(fromEntra.legacyDisable)).toMatchObject({ active: false })
    const flagged = await entra.call('PATCH', `/Users/${ann.id}?aadOptscim062020`, fromEntra.legacyEnable)
    expect(flagged).toMatchObject({ status: 200, body: { active: true } })

    const created = await okta.call('POST', '/Users', fromOkta.createUser('test.user'))
    expect(created).toMatchObject({ status: 201, body: { displayName: 'test.user User' } })
    expect(created.text).not.toContain('1mz050nq')
    const { id } = created.body
    expect(await okta.call('PATCH', `/Users/${id}`, fromOkta.deactivate)).toMatchObject({ body: { active: false } })
    expect(await okta.call('PATCH', `/Users/${id}`, fromOkta.activate)).toMatchObject({ body: { active: true } })
    const replaced = await okta.call('PUT', `/Users/${id}`, fromOkta.replaceUser(id, 'test.user'))
    expect(replaced).toMatchObject({ status: 200, body: { id, name: { givenName: 'Another', familyName: 'User' } } })
    expect(replaced.body).not.toHaveProperty('displayName')
    const { body: last } = await okta.call('PUT', `/Users/${id}`, fromOkta.replaceUser(id, 'test.user', false))
    expect(last).toMatchObject({ active: false })
  })

  test('provisioning.deleteUser 204: suspends the account, and the same external id makes it active again', async () => {
    const { entra, operator } = world
    const { body: leaver } = await entra.call('POST', '/Users', fromEntra.createUser('leaver'))
    expect(await entra.call('DELETE', `/Users/${leaver.id}`)).toMatchObject({ status: 204, text: '' })
    expect(await entra.call('GET', `/Users/${leaver.id}`)).toMatchObject({ status: 404 })
    expect(await entra.call('DELETE', `/Users/${leaver.id}`)).toMatchObject({ status: 404 })
    const params = { account_id: leaver.id }
    expect(await operator.readAccount({ params })).toMatchObject({ accountStatus: { code: 'SUSPENDED' } })
    const other = { ...fromEntra.createUser('leaver'), externalId: 'entra-successor' }
    expect(await entra.call('POST', '/Users', other)).toMatchObject({ status: 409 })
    const again = await entra.call('POST', '/Users', fromEntra.createUser('leaver'))
    expect(again).toMatchObject({ status: 201, body: { id: leaver.id, active: true } })
    expect(await operator.readAccount({ params })).toMatchObject({ accountStatus: { code: 'ACTIVE' } })
  })

  test('provisioning.patchUser 409 STATE.CONFLICT: the provider does not lift the suspension by an operator', async () => {
    const { entra, operator } = world
    const { body: person } = await entra.call('POST', '/Users', fromEntra.createUser('locked'))
    const params = { account_id: person.id }
    await operator.suspendAccount({ params, body: { reason: 'test' } })
    expect(await entra.call('GET', `/Users/${person.id}`)).toMatchObject({ body: { active: false } })
    const refused = { status: 409, body: { code: 'STATE.CONFLICT' } }
    expect(await entra.call('PATCH', `/Users/${person.id}`, fromEntra.legacyEnable)).toMatchObject(refused)
    await entra.call('PATCH', `/Users/${person.id}`, fromEntra.disable)
    expect(await entra.call('PATCH', `/Users/${person.id}`, fromEntra.legacyEnable)).toMatchObject(refused)
    await entra.call('DELETE', `/Users/${person.id}`)
    expect(await entra.call('POST', '/Users', fromEntra.createUser('locked'))).toMatchObject(refused)
  })

  test('discovery 200: names what is supported, and only that', async () => {
    const { entra } = world
    expect(await entra.call('GET', '/ServiceProviderConfig')).toMatchObject({
      status: 200,
      body: {
        patch: { supported: true },
        filter: { supported: true, maxResults: 100 },
        ...{ bulk: { supported: false }, sort: { supported: false }, etag: { supported: false } },
        changePassword: { supported: false },
      },
    })
    const { body: types } = await entra.call('GET', '/ResourceTypes')
    expect(types.Resources).toMatchObject([{ endpoint: '/Users' }, { endpoint: '/Groups' }])
    const { body: schemas } = await entra.call('GET', '/Schemas')
    expect(schemas.Resources.map(({ id }: { id: string }) => id)).toEqual([
      'urn:ietf:params:scim:schemas:core:2.0:User',
      'urn:ietf:params:scim:schemas:core:2.0:Group',
    ])
  })

  test.each([
    ['an unknown attribute in a filter', 'GET', '/Users?filter=title%20eq%20%22x%22', undefined, 400, 'invalidFilter'],
    ['another operator', 'GET', '/Users?filter=userName%20sw%20%22x%22', undefined, 400, 'invalidFilter'],
    ['a text without quotes', 'GET', '/Groups?filter=displayName%20eq%20x', undefined, 400, 'invalidFilter'],
    ['a body of broken JSON', 'POST', '/Users', '{"userName":', 400, 'invalidSyntax'],
    ['a person without an address', 'POST', '/Users', { userName: 'nobody' }, 400, 'invalidValue'],
    ['no user name', 'POST', '/Users', { externalId: 'x' }, 400, 'invalidValue'],
    ['both selections', 'GET', '/Users?attributes=id&excludedAttributes=id', undefined, 400, 'invalidValue'],
    ['an unknown query parameter', 'GET', '/Users?sortBy=userName', undefined, 400, 'invalidValue'],
    ['an unknown path', 'GET', '/Bulk', undefined, 404, undefined],
  ] as const)('%s is refused in the form of SCIM', async (_, method, path, body, status, scimType) => {
    const answer = await world.entra.call(method, path, body)
    expect(answer).toMatchObject({ status })
    if (scimType === undefined) return
    expect(answer.headers.get('content-type')).toBe('application/scim+json')
    expect(answer.body).toMatchObject({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      ...{ status: String(status), scimType, detail: expect.stringMatching(/./) },
    })
  })

  test('requests without a valid key 401: in the form of SCIM', async () => {
    const { portico } = world
    const unknown = `pok_${'0'.repeat(12)}_${'A'.repeat(43)}`
    expect(await callScim(portico, unknown, 'GET', '/Users')).toMatchObject({
      status: 401,
      body: { status: '401', code: 'ACCESS.TOKEN_INVALID' },
    })
  })

  test('provisioning.listUsers 200: pages in the order of creation', async () => {
    const { okta } = world
    for (const name of ['page1', 'page2', 'page3']) await okta.call('POST', '/Users', fromOkta.createUser(name))
    const { body: all } = await okta.call('GET', '/Users?attributes=userName')
    const names = all.Resources.map(({ userName }: { userName: string }) => userName)
    expect(all).toMatchObject({ totalResults: names.length, startIndex: 1, itemsPerPage: names.length })
    expect(Object.keys(all.Resources[0])).toEqual(['schemas', 'id', 'userName'])
    const { body: second } = await okta.call('GET', '/Users?startIndex=2&count=1')
    expect(second).toMatchObject({ startIndex: 2, itemsPerPage: 1, Resources: [{ userName: names[1] }] })
    const { body: counted } = await okta.call('GET', '/Users?count=0&startIndex=-3')
    expect(counted).toMatchObject({ totalResults: names.length, startIndex: 1, itemsPerPage: 0, Resources: [] })
  })
})
