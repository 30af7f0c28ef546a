import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { toInstant } from '../../../src/kernel/index.ts'
import {
  addOrphanBlobs,
  type Blobs,
  claimBlob,
  deleteOrphanBlobs,
  openBlobs,
} from '../../../src/platform/blobs/index.ts'
import { everyStore } from '../../ledger/stores.ts'

const stores = await everyStore()
let directory: string
let blobs: Blobs
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'portico-unnamed-'))
  blobs = await openBlobs({ kind: 'disk', minimumFreeBytes: 0 }, directory)
})
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await rm(directory, { recursive: true, force: true })
})

const due = toInstant(1_000)

describe.each(stores)('orphan blobs on $name', ({ database }) => {
  beforeEach(() => database.deleteFrom('unnamed_blobs').execute())

  const put = async (area = 'files'): Promise<string> => {
    const key = `${area}/${randomUUID()}`
    await blobs.put(key, Readable.from(['bytes']))
    return key
  }
  const exists = async (key: string): Promise<boolean> => {
    const bytes = await blobs.get(key)
    return bytes !== undefined && (await text(bytes)) === 'bytes'
  }
  const claim = (key: string) => inTransaction(database, (tx) => claimBlob(tx, key))
  const cleanUp = (at = due, store: Blobs = blobs, signal?: AbortSignal) =>
    deleteOrphanBlobs({ database, blobs: store }, 'files', at, signal)

  test('are deleted when due; claimed, foreign and other areas’ blobs are not', async () => {
    const [orphan, claimed, elsewhere, foreign] = [await put(), await put(), await put('exports'), await put()]
    await addOrphanBlobs(database, [orphan, claimed, elsewhere], due)
    expect(await claim(claimed)).toBe(true)
    expect(await cleanUp(toInstant(due - 1))).toBe(0)
    expect(await exists(orphan)).toBe(true)
    expect(await cleanUp()).toBe(1)
    expect(await Promise.all([orphan, claimed, elsewhere, foreign].map(exists))).toEqual([false, true, true, true])
    expect(await claim(orphan)).toBe(false)
    expect(await database.selectFrom('unnamed_blobs').select('blobKey').execute()).toEqual([{ blobKey: elsewhere }])
  })

  test('are all deleted, also more than one batch', async () => {
    const keys = Array.from({ length: 401 }, () => `files/${randomUUID()}`)
    await addOrphanBlobs(database, keys, due)
    expect(await cleanUp()).toBe(401)
    expect(await database.selectFrom('unnamed_blobs').select('blobKey').execute()).toEqual([])
  })

  test('cannot be claimed during deletion; a failed deletion is repeated by the next cleanup', async () => {
    const key = await put()
    await addOrphanBlobs(database, [key], due)
    const claimed: boolean[] = []
    const failing: Blobs = {
      ...blobs,
      delete: async () => {
        claimed.push(await claim(key))
        throw new Error('not now')
      },
    }
    await expect(cleanUp(due, failing)).rejects.toThrow('not now')
    expect(claimed).toEqual([false])
    expect([await claim(key), await exists(key)]).toEqual([false, true])
    expect(await cleanUp()).toBe(1)
    expect(await exists(key)).toBe(false)
  })

  const withUndeletable = (undeletable: readonly string[]): Blobs => ({
    ...blobs,
    delete: async (key) => {
      if (undeletable.includes(key)) throw new Error('not allowed')
      await blobs.delete(key)
    },
  })

  test('that cannot be deleted do not block others; the cleanup rejects and the next one retries', async () => {
    const keys = [await put(), await put(), await put()]
    const [first = '', undeletable = '', last = ''] = keys
    await addOrphanBlobs(database, [undeletable], toInstant(due - 1))
    await addOrphanBlobs(database, [first, last], due)
    await expect(cleanUp(due, withUndeletable([undeletable]))).rejects.toThrow(
      `orphan blobs not deleted: 1; last failure: ${undeletable}: not allowed`,
    )
    expect(await Promise.all(keys.map(exists))).toEqual([false, true, false])
    expect(await database.selectFrom('unnamed_blobs').select('blobKey').execute()).toEqual([{ blobKey: undeletable }])
    expect(await cleanUp()).toBe(1)
    expect(await exists(undeletable)).toBe(false)
  })

  test('many failures end a cleanup, and the next one starts with other blobs', async () => {
    const undeletable = await Promise.all(Array.from({ length: 12 }, () => put()))
    const other = await put()
    await addOrphanBlobs(database, undeletable, toInstant(due - 2))
    await addOrphanBlobs(database, [other], toInstant(due - 1))
    const tried: string[] = []
    const down = withUndeletable(undeletable)
    const recording = { ...down, delete: (key: string) => down.delete(key).finally(() => tried.push(key)) }
    await expect(cleanUp(due, recording)).rejects.toThrow('orphan blobs not deleted: 10')
    expect([tried.length, await exists(other)]).toEqual([10, true])
    await expect(cleanUp(due, recording)).rejects.toThrow('orphan blobs not deleted: 12')
    expect([tried.indexOf(other), new Set(tried).size, await exists(other)]).toEqual([12, 13, false])
  })

  test('an aborted cleanup stops between two blobs, and the next one continues', async () => {
    const keys = [await put(), await put()]
    await addOrphanBlobs(database, keys, due)
    const stopping = new AbortController()
    const last: Blobs = {
      ...blobs,
      delete: (key) => blobs.delete(key).finally(() => stopping.abort(new Error('down'))),
    }
    await expect(cleanUp(due, last, stopping.signal)).rejects.toThrow('down')
    expect((await Promise.all(keys.map(exists))).filter(Boolean)).toHaveLength(1)
    expect(await cleanUp()).toBe(2)
    expect(await Promise.all(keys.map(exists))).toEqual([false, false])
  })

  test('a claim that races a cleanup: the row has its blob, or the claim fails', async () => {
    const outcomes: string[] = []
    for (let round = 0; round < 60; round++) {
      const key = await put()
      await addOrphanBlobs(database, [key], due)
      // The first call is more likely to come first.
      const cleaningUp = round % 2 === 0 ? cleanUp() : null
      const [isClaimed, deleted] = await Promise.all([claim(key), cleaningUp ?? cleanUp()])
      expect([isClaimed, deleted]).toEqual(isClaimed ? [true, 0] : [false, 1])
      expect(await exists(key)).toBe(isClaimed)
      outcomes.push(isClaimed ? 'row' : 'cleanup')
    }
    expect(new Set(outcomes)).toEqual(new Set(['row', 'cleanup']))
  })

  test('a claim in a transaction that rolls back: the blob is deleted', async () => {
    const key = await put()
    await addOrphanBlobs(database, [key], due)
    const failing = inTransaction(database, async (tx) => {
      expect(await claimBlob(tx, key)).toBe(true)
      throw new Error('the row was refused')
    })
    await expect(failing).rejects.toThrow('the row was refused')
    expect(await cleanUp()).toBe(1)
    expect(await exists(key)).toBe(false)
  })
})
