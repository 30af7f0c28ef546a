import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { seededDirectory } from '../harness/template.ts'
import { type Attempt, createClient, sendRequest, signedIn, transfer, type User } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const folder = await mkdtemp(join(tmpdir(), 'portico-disk-'))

/** Mounting a small disk requires root. */
const mounted = (() => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

afterAll(async () => {
  if (mounted) execFileSync('umount', [folder])
  await rm(folder, { recursive: true, force: true })
})

function fill(file: string, leave: number): void {
  const chunk = Buffer.alloc(1_048_576)
  const handle = openSync(file, 'w')
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(folder)
      if (bavail * bsize <= leave) break
      writeSync(handle, chunk)
    }
  } catch {
    // Fill the disk completely.
  } finally {
    closeSync(handle)
  }
}

describe('the embedded store', () => {
  let gateway: PorticoProcess
  const directory = join(folder, 'data')
  const variables = { PORTICO_DATA_DIR: directory, PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'error' }

  beforeAll(async () => {
    const template = await seededDirectory()
    await cp(template.directory, directory, { recursive: true })
    await template.remove()
    process.env.PORTICO_TEST_CLOCK_SHIFT = '61000'
    const shim = new URL('shifted-clock.mjs', import.meta.url).href
    gateway = await startProcess(variables, 'gateway', ['--import', shim])
  })
  afterAll(() => gateway?.stop())

  test('a second process on the same directory refuses to start, and the first one keeps running', async () => {
    await expect(startProcess(variables)).rejects.toThrow('is in use by another process')
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(200)
  })

  test(
    'its disk is full: writes are 503, reads work',
    needs(mounted, 'this user cannot mount a small disk'),
    async () => {
      const user = await signedIn(createClient(() => [gateway]))
      const attempts = [await transfer(user)]
      expect(attempts[0]?.status).toBe(200)
      const ballast = join(folder, 'ballast')
      fill(ballast, 0)
      await expect
        .poll(
          async () => {
            const attempt = await transfer(user)
            attempts.push(attempt)
            return attempt.status
          },
          { timeout: 60_000 },
        )
        .toBe(503)
      // Long enough to record the session's activity.
      gateway.child.kill('SIGUSR2')
      for (const path of ['/wallets', '/profile', '/constants/timezones'])
        expect((await sendRequest(user, 'GET', path)).status, path).toBe(200)

      expect(await gateway.stop()).toBe(0)
      await expect(startProcess(variables)).rejects.toThrow(/the disk of .* has 0 MB free/)
      rmSync(ballast)
      gateway = await startProcess(variables)
      const count = await settleAll(user, attempts)
      expect(await gateway.stop()).toBe(0)
      await checkBook({ directory }, count)
    },
  )
})

/** A transfer is one statement. Opening a wallet takes several, and its COMMIT is the write that fails. */
const writes: Record<string, (user: User) => Promise<{ status: number; attempts: Attempt[] }>> = {
  transfer: async (user) => {
    const attempt = await transfer(user)
    return { status: attempt.status, attempts: [attempt] }
  },
  'new wallet': async (user) => {
    const body = { walletName: 'Broken', currency: 'JPY' }
    return { status: (await sendRequest(user, 'POST', '/wallets', { body })).status, attempts: [] }
  },
}

test.each(Object.entries(writes))(
  'the log of the embedded store cannot be written: a %s is 503, and the process ends so that it is restarted',
  async (_, write) => {
    const { directory, remove } = await seededDirectory()
    const variables = { PORTICO_DATA_DIR: directory, PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'error' }
    const shim = new URL('broken-log.mjs', import.meta.url).href
    let gateway = await startProcess(variables, 'gateway', ['--import', shim])
    try {
      const user = await signedIn(createClient(() => [gateway]))
      const attempts = [await transfer(user)]
      expect(attempts[0]?.status).toBe(200)
      // The event of the transfer must not be the first write that fails.
      const events = async () => (await sendRequest(user, 'GET', '/events?type=transfer.completed')).body.data.events
      await expect.poll(events).toHaveLength(1)
      const ended = once(gateway.child, 'exit')
      gateway.child.kill('SIGUSR2')
      await expect.poll(() => gateway.output()).toContain('the log is broken')
      const written = await write(user)
      expect(written.status).toBe(503)
      expect(await ended).toEqual([1, null])
      expect(gateway.output()).toContain('fatal error; the process exits and must be restarted')

      gateway = await startProcess(variables)
      const count = await settleAll(user, [...attempts, ...written.attempts])
      expect(await gateway.stop()).toBe(0)
      await checkBook({ directory }, count)
    } finally {
      gateway.child.kill('SIGKILL')
      await remove()
    }
  },
)

test('an embedded store whose creation is killed before its last file: the next start creates it again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'portico-making-'))
  const variables = { PORTICO_DATA_DIR: directory, LOG_LEVEL: 'error' }
  const shim = new URL('killed-during-creation.mjs', import.meta.url).href
  try {
    await expect(startProcess(variables, 'gateway', ['--import', shim])).rejects.toThrow('did not get ready')
    expect(existsSync(join(directory, 'pg', 'PG_VERSION'))).toBe(true)
    const gateway = await startProcess(variables)
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
})
