import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requiredHeaders } from '../harness/http.ts'
import { startProcess } from '../harness/process.ts'

test('what nothing catches is told in a line of the log, accepted requests finish, and the process ends with 1', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-uncaught-'))
  const shim = new URL('broken-library.mjs', import.meta.url).href
  const gateway = await startProcess({ PORTICO_DATA_DIR: directory, LOG_LEVEL: 'error' }, 'gateway', ['--import', shim])
  try {
    const body = JSON.stringify({ email: 'nobody@demo.test', password: 'no such password' })
    const slow = request(`${gateway.url}/web/v1/consumer/auth/login/initiate`, {
      method: 'POST',
      headers: { ...requiredHeaders(), 'content-length': String(body.length) },
    })
    slow.write(body.slice(0, 10))
    const answered = once(slow, 'response')
    // By the answer the first half has been read as well.
    await (await fetch(`${gateway.url}/docs`)).text()
    const ended = once(gateway.child, 'close')
    gateway.child.kill('SIGUSR2')
    await expect.poll(() => gateway.output()).toContain('the process ends, to be started again')
    slow.end(body.slice(10))
    const [response] = await answered
    expect(response.statusCode).toBe(401)
    response.resume()
    expect(await ended).toEqual([1, null])
    const [line = '', ...more] = gateway.output().trimEnd().split('\n')
    expect(JSON.parse(line)).toMatchObject({ level: 'error', err: { message: 'a library failed' } })
    expect(more).toEqual([])
    expect(line).not.toContain('hidden')
  } finally {
    await gateway.stop()
    await rm(directory, { recursive: true, force: true })
  }
})
