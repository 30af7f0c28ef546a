import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { unknownId } from '../harness/catalogue.ts'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx, type TestNginx } from '../harness/nginx.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Recorder, startRecorder } from '../harness/recorder.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const climb = '..%2f..%2f..%2f..%2f..%2finternal%2fusers'

describe('a backend behind nginx', needs(nginxIsInstalled(), 'nginx is not installed'), () => {
  let portico: Portico
  let nginx: TestNginx
  let recorder: Recorder
  let session: Session

  beforeAll(async () => {
    recorder = await startRecorder()
    nginx = await startNginx({
      '/portal/': `${recorder.url}/portal/`,
      '/internal/': `${recorder.url}/internal/`,
    })
    const place = upstreamAt(`${nginx.url}/portal`)
    portico = await startPortico({
      adjust: (settings) => {
        settings.backends = { ...settings.backends, wallets: place, recharges: place, files: place }
      },
    })
    session = await signIn(portico)
  })
  afterAll(async () => {
    await portico?.stop()
    await nginx?.stop()
    await recorder?.close()
  })
  beforeEach(() => {
    recorder.requests.length = 0
  })

  const request = (method: string, path: string) =>
    portico.call(method, `/web/v1/consumer${path}`, {
      token: session.accessToken,
      workspace: developmentIds.workspace,
      ...(method === 'POST' && { body: { cancelReason: 'never mind' } }),
    })

  const cases = [
    ['wallets.read', 'GET', '/wallets/{}', ''],
    ['recharges.cancel', 'POST', '/recharges/{}/cancel', '/cancel'],
    ['files.download', 'GET', '/files/{}/download', '/download'],
  ] as const

  test.each(cases)('%s: nginx would decode the path and leave its location', async (_, method, path, rest) => {
    const response = await fetch(`${nginx.url}/portal/web/v1/consumer${path.replace('{}', climb)}`, { method })
    expect(await response.json()).toEqual({ users: ['internal'] })
    expect(recorder.requests).toEqual([`${method} /internal/users${rest}`])
  })

  test.each(cases)('%s 404 RESOURCE.NOT_FOUND: a traversal does not reach nginx', async (_, method, path) => {
    for (const value of [climb, climb.replaceAll('%2f', '%5c'), climb.replaceAll('..', '%252e%252e'), `${climb}%00`]) {
      const reply = await request(method, path.replace('{}', value))
      expect([reply.status, reply.body?.code], value).toEqual([404, 'RESOURCE.NOT_FOUND'])
    }
    expect(recorder.requests).toEqual([])
  })

  test.each(cases)('%s: a UUID reaches the backend through nginx', async (_, method, path) => {
    const reply = await request(method, path.replace('{}', unknownId))
    expect([reply.status, reply.body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    expect(recorder.requests).toEqual([`${method} /portal/web/v1/consumer${path.replace('{}', unknownId)}`])
  })
})
