import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { client, data, goodPassword, refusal } from '../harness/identity.ts'
import { startMailServer, type TestMailServer } from '../harness/mail-server.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn, type Session, signIn } from '../harness/sign-in.ts'

const addresses = ['a..b@docomo.ne.jp', '.a@docomo.ne.jp', 'a.@ezweb.ne.jp', '"a..b"@docomo.ne.jp', 'A..b@Docomo.ne.jp']
const elsewhere = ['.a@demo.test', 'a.@demo.test', 'a..b@demo.test', 'a.@notdocomo.ne.jp', '"a..b"@demo.test']
const never = [
  '"a.b"@docomo.ne.jp',
  '"a b"@docomo.ne.jp',
  '"a..b@docomo.ne.jp',
  'a"..b@docomo.ne.jp',
  'a..b,c@docomo.ne.jp',
]

const turnstileToken = 'x'

/** Each operation that reads the address of a person. */
function operationsOf(portico: Portico, { accessToken: token }: Session) {
  const post = (path: string, body: object, call: object = {}) =>
    portico.call('POST', `/web/v1/consumer${path}`, { ...call, body })
  const invitation = { roleBizId: developmentIds.memberRole }
  return (email: string) =>
    Promise.all([
      post('/auth/register/initiate', { email, turnstileToken }),
      post('/auth/login/initiate', { email, password: goodPassword }),
      post('/auth/password/forgot', { email, turnstileToken }),
      post('/invitations', { email, ...invitation }, { token, workspace: developmentIds.workspace }),
    ])
}

describe('addresses of Japanese carriers with two dots, or a dot at an end', () => {
  let server: TestMailServer
  let portico: Portico
  beforeAll(async () => {
    server = await startMailServer()
    portico = await startPortico({
      variables: { SMTP_URL: server.url },
      adjust: ({ mail }) => {
        mail.carrierDomains = ['docomo.ne.jp', 'ezweb.ne.jp']
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    await server?.close()
  })

  /** Runs `request`, which mails a code. */
  const codeOf = async (request: () => Promise<unknown>) => {
    const before = server.received.length
    await request()
    const find = () => server.received.slice(before).find(({ subject }) => /code|confirm/i.test(subject ?? ''))
    await expect.poll(find, { timeout: 10_000 }).toBeDefined()
    return codeIn(find()?.text ?? '')
  }

  test('auth.registerInitiate to loginComplete 200: quoted and unquoted, the address is one account', async () => {
    const by = client(portico)
    const email = 'taro..y@docomo.ne.jp'
    let sessionId = ''
    const code = await codeOf(async () => {
      sessionId = data(await by.post('/auth/register/initiate', { email, turnstileToken })).sessionId
    })
    data(await by.post('/auth/register/verify-email', { sessionId, code }))
    const { passwordInitToken: token } = data(
      await by.post('/auth/register/complete', { sessionId, accountName: 'Taro' }),
    )
    data(await by.post('/auth/password/init', { token, newPassword: goodPassword }))
    for (const typed of [email, '"Taro..Y"@docomo.ne.jp']) {
      const login = data(await by.post('/auth/login/initiate', { email: typed, password: goodPassword }))
      const proof = { sessionId: login.sessionId, mfaMethod: 'EMAIL' }
      const mailed = await codeOf(async () => data(await by.post('/auth/login/mfa/send', proof)))
      const { accessToken } = data(await by.post('/auth/login/complete', { ...proof, code: mailed }))
      expect(data(await by.get('/profile', accessToken)).accountEmail).toBe(email)
    }
    expect([...new Set(server.recipients)]).toEqual(['"taro..y"@docomo.ne.jp'])
  })
})

describe('addresses of Japanese carriers, by the setting', () => {
  let portico: Portico
  let without: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ mail }) => {
        mail.carrierDomains = ['docomo.ne.jp', 'ezweb.ne.jp']
      },
    })
    without = await startPortico()
  })
  afterAll(async () => {
    await portico?.stop()
    await without?.stop()
  })

  test.each(addresses)('register, login, forgot, invite: %s only where the setting lists its domain', async (email) => {
    // The forms of one address are one invitee.
    const isFirst = !/^"a\.\.b|^A/.test(email)
    const accepted = await operationsOf(portico, await signIn(portico))(email)
    expect(accepted.map(({ status }) => status)).toEqual([200, 401, 200, isFirst ? 200 : 409])
    const refused = await operationsOf(without, await signIn(without))(email)
    expect(refused.map(refusal)).toEqual(Array(4).fill([400, 'VALIDATION.INVALID_PARAMETER']))
    for (const { headers } of refused) expect(headers.get('x-portico-fields')).toMatch(/^email;/)
  })

  test.each([...elsewhere, ...never])('register, login, forgot, invite 400: %s', async (email) => {
    const answers = await operationsOf(portico, await signIn(portico))(email)
    expect(answers.map(refusal)).toEqual(Array(4).fill([400, 'VALIDATION.INVALID_PARAMETER']))
  })
})
