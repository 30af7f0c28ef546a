import { once } from 'node:events'
import { request } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { requiredHeaders } from '../harness/http.ts'
import { startProcess } from '../harness/process.ts'
import { seededDirectory } from '../harness/template.ts'

const taken: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const takeDown of taken.splice(0).reverse()) await takeDown()
})

/** A request is in progress. */
async function scene(LOG_LEVEL: string) {
  const { directory, remove } = await seededDirectory()
  taken.push(remove)
  const shim = new URL('broken-library.mjs', import.meta.url).href
  const gateway = await startProcess({ PORTICO_DATA_DIR: directory, LOG_LEVEL }, 'gateway', ['--import', shim])
  taken.push(gateway.stop)
  const body = JSON.stringify({ email: 'nobody@demo.test', password: 'no such password' })
  const slow = request(`${gateway.url}/web/v1/consumer/auth/login/initiate`, {
    method: 'POST',
    headers: { ...requiredHeaders(), 'content-length': String(body.length) },
  })
  slow.write(body.slice(0, 10))
  const answered = once(slow, 'response')
  // By now, the gateway has read the first half of the other request.
  await (await fetch(`${gateway.url}/docs`)).text()
  const ended = once(gateway.child, 'close')
  return {
    gateway,
    /** Status of the request, exit code and signal. */
    finish: async (): Promise<unknown[]> => {
      slow.end(body.slice(10))
      const [response] = await answered
      response.resume()
      return [response.statusCode, ...(await ended)]
    },
    /** The log, without the banner of the development profile. */
    lines: () =>
      gateway
        .output()
        .split('\n')
        .filter((line) => line !== '' && !/^ {2}[A-Z]/.test(line))
        .map((line) => JSON.parse(line)),
  }
}

const wording = 'fatal error; the process exits and must be restarted'

test.each([
  ['error', 'SIGUSR2', 'a library failed'],
  ['thrown string', 'SIGWINCH', 'a library threw a text'],
] as const)(
  'an uncaught %s is logged, accepted requests finish, and the process exits with 1',
  async (_what, signal, message) => {
    const { gateway, finish, lines } = await scene('error')
    gateway.child.kill(signal)
    await expect.poll(() => gateway.output()).toContain(wording)
    expect(await finish()).toEqual([401, 1, null])
    expect(lines()).toMatchObject([
      { level: 'error', err: { message }, msg: 'unhandled rejection' },
      { level: 'error', err: { message }, msg: wording },
    ])
    expect(gateway.output()).not.toContain('hidden')
  },
)

test('an uncaught error during the shutdown is logged, and the process exits with 1', async () => {
  const { gateway, finish, lines } = await scene('info')
  gateway.child.kill('SIGTERM')
  await expect.poll(() => gateway.output()).toContain('draining')
  gateway.child.kill('SIGUSR2')
  await expect.poll(() => gateway.output()).toContain('a library failed')
  expect(await finish()).toEqual([401, 1, null])
  expect(lines()).toContainEqual(expect.objectContaining({ level: 'error', msg: 'unhandled rejection' }))
})
