import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bankingCatalogue } from '../../../src/contract/index.ts'
import { type JsonObject, openApiDocument, postmanCollection, readExamples } from '../../../src/openapi/index.ts'

const values = { accessCode: 'consumer-dev', workspaceId: 'a-workspace' }
const options = { baseUrl: 'http://127.0.0.1:8080', values, hasEdgeHeaders: true }

/** The parts of the format v2.1 that a collection uses. */
const Script = z.strictObject({ type: z.literal('text/javascript'), exec: z.array(z.string()) })
const Events = z.array(z.strictObject({ listen: z.enum(['test', 'prerequest']), script: Script }))
const Pair = z.strictObject({ key: z.string(), value: z.string(), disabled: z.literal(true).optional() })
const Text = z.strictObject({ key: z.string(), type: z.literal('text'), value: z.string() })
const File = z.strictObject({ key: z.string(), type: z.literal('file'), src: z.array(z.string()) })
const Body = z.discriminatedUnion('mode', [
  z.strictObject({
    mode: z.literal('raw'),
    raw: z.string(),
    options: z.object({ raw: z.object({ language: z.string() }) }),
  }),
  z.strictObject({ mode: z.literal('formdata'), formdata: z.array(z.discriminatedUnion('type', [Text, File])) }),
  z.strictObject({ mode: z.literal('file'), file: z.strictObject({}) }),
])
const Bearer = z.strictObject({ key: z.literal('token'), value: z.string(), type: z.literal('string') })
const Auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('noauth') }),
  z.strictObject({ type: z.literal('bearer'), bearer: z.tuple([Bearer]) }),
])
const Url = z.strictObject({
  raw: z.string(),
  host: z.tuple([z.literal('{{baseUrl}}')]),
  path: z.array(z.string().min(1)),
  query: z.array(Pair).optional(),
  variable: z.array(Pair).optional(),
})
const Request = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  header: z.array(Pair),
  body: Body.optional(),
  url: Url,
  auth: Auth,
  description: z.string(),
})
const Item = z.strictObject({ name: z.string(), request: Request, response: z.tuple([]), event: Events.optional() })
const Domain = z.strictObject({ name: z.string(), item: z.array(Item).min(1) })
const Collection = z.strictObject({
  info: z.strictObject({
    name: z.string(),
    schema: z.literal('https://schema.getpostman.com/json/collection/v2.1.0/collection.json'),
  }),
  item: z.array(z.strictObject({ name: z.string(), item: z.array(Domain).min(1) })),
  event: Events,
  variable: z.array(Pair),
})

describe('postmanCollection', () => {
  let document: JsonObject
  let collection: z.output<typeof Collection>
  beforeAll(async () => {
    const examples = readExamples('docs/examples.json')
    document = await openApiDocument(bankingCatalogue, { version: '1.2.3', examples })
    collection = Collection.parse(postmanCollection(document, options))
  })
  const itemsOf = (folder: string) =>
    collection.item.find(({ name }) => name === folder)?.item.flatMap(({ item }) => item) ?? []
  const find = (folder: string, path: string) =>
    itemsOf(folder).find(({ request }) => request.url.raw === `{{baseUrl}}${path}`) ?? expect.fail(`no ${path}`)
  const all = () => collection.item.flatMap(({ item }) => item.flatMap((domain) => domain.item))
  const headersOf = ({ request }: z.output<typeof Item>) =>
    Object.fromEntries(request.header.map(({ key, value, disabled }) => [key, disabled ? null : value]))

  test('has a request per operation and chain, in a folder per chain and domain', () => {
    expect(collection.item.map(({ name }) => name)).toEqual([
      'CONSUMER portal',
      'SYSTEM portal',
      'Both portals',
      'Own account',
      'Machines',
      'Machines of operators',
    ])
    const documented = bankingCatalogue.operations.filter(({ protocol }) => protocol === undefined)
    const operations = documented.flatMap(({ chains }) => chains)
    expect(all()).toHaveLength(operations.length)
    expect(collection.item[0]?.item.map(({ name }) => name)).toEqual(expect.arrayContaining(['auth', 'transfers']))
  })

  test('each request has a new id, and each idempotent command a new key', () => {
    expect(all().every((item) => headersOf(item)['X-Request-Id'] === '{{$guid}}')).toBe(true)
    const keys = all().filter((item) => headersOf(item)['Idempotency-Key'] === '{{$guid}}')
    const idempotent = bankingCatalogue.operations.filter(({ policy }) => policy.idempotent)
    expect(keys).toHaveLength(idempotent.flatMap(({ chains }) => chains).length)
  })

  test('every variable is declared, and only development values are set', () => {
    const used = new Set([...JSON.stringify(collection.item).matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name))
    expect(new Set(collection.variable.map(({ key }) => key))).toEqual(used)
    const set = collection.variable.filter(({ value }) => value !== '')
    expect(Object.fromEntries(set.map(({ key, value }) => [key, value]))).toEqual({
      ...values,
      baseUrl: options.baseUrl,
    })
  })

  test('the headers depend on the chain and on the policy', () => {
    const edge = {
      'X-Forwarded-Proto': 'https',
      'CF-Connecting-IP': '127.0.0.1',
      'Cf-Ray': 'none',
      'cf-ipcountry': 'XX',
    }
    const common = { 'X-Request-Id': '{{$guid}}', 'X-Client-Hash': '{{clientHash}}' }
    const portal = { ...common, ...edge, 'X-LOCALE': 'en' }
    expect(headersOf(find('CONSUMER portal', '/web/v1/consumer/transfer/command/create'))).toEqual({
      ...portal,
      'X-PORTAL-ACCESS-CODE': '{{accessCode}}',
      'Idempotency-Key': '{{$guid}}',
      'X-Workspace-Id': null,
      'Content-Type': 'application/json',
    })
    const system = headersOf(find('SYSTEM portal', '/web/v1/system/profile'))
    expect(system).toEqual({ ...portal, 'X-PORTAL-ACCESS-CODE': '{{systemAccessCode}}' })
    expect(headersOf(itemsOf('Machines')[0] ?? expect.fail())).toEqual({
      'X-Request-Id': '{{$guid}}',
      'X-Workspace-Id': null,
    })
    const production = Collection.parse(postmanCollection(document, { ...options, hasEdgeHeaders: false }))
    expect(JSON.stringify(production)).not.toMatch(/X-Forwarded-Proto|cf-/i)
  })

  test('the sign-in stores its tokens in the variables of its portal, and later requests send them', () => {
    const complete = find('SYSTEM portal', '/web/v1/system/auth/login/complete')
    expect(complete.event?.[0]?.script.exec.join('\n')).toContain("['accessToken', 'systemAccessToken']")
    const { body } = complete.request
    expect(body?.mode === 'raw' && JSON.parse(body.raw)).toEqual({
      sessionId: '{{systemSessionId}}',
      mfaMethod: 'EMAIL',
      code: '{{code}}',
    })
    const tokenOf = (item: z.output<typeof Item>) =>
      item.request.auth.type === 'bearer' ? item.request.auth.bearer[0].value : null
    expect(tokenOf(complete)).toBeNull()
    expect(tokenOf(find('CONSUMER portal', '/web/v1/consumer/profile'))).toBe('{{accessToken}}')
    expect(itemsOf('Machines').map(tokenOf)).toEqual(itemsOf('Machines').map(() => '{{apiKey}}'))
  })

  test('every body has an example, and parameters are variables of the URL', () => {
    const raw = all().flatMap(({ request: { body } }) => (body?.mode === 'raw' ? [JSON.parse(body.raw)] : []))
    expect(raw.length).toBeGreaterThan(80)
    expect(JSON.stringify(raw)).not.toMatch(/"<\w+>"/)
    const upload = find('CONSUMER portal', '/web/v1/consumer/files/upload').request.body
    expect(upload).toMatchObject({
      mode: 'formdata',
      formdata: [
        { key: 'file', type: 'file' },
        { key: 'purpose', type: 'text' },
      ],
    })
    const { url } = find('CONSUMER portal', '/web/v1/consumer/wallets/:wallet_id/balance').request
    expect(url.variable).toEqual([{ key: 'wallet_id', value: expect.stringMatching(/^[\da-f-]{36}$/) }])
    expect(url.query).toEqual([{ key: 'at', value: expect.any(String), disabled: true }])
  })
})
