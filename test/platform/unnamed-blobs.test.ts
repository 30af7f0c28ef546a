import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/database/index.ts'
import { toInstant } from '../../src/kernel/index.ts'
import { addUnnamed, type Blobs, nameBlob, openBlobs, sweepUnnamed } from '../../src/platform/blobs/index.ts'
import { everyStore } from '../ledger/stores.ts'

const stores = await everyStore()
let directory: string
let blobs: Blobs
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'portico-unnamed-'))
  blobs = await openBlobs({ kind: 'disk' }, directory)
})
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await rm(directory, { recursive: true, force: true })
})

const due = toInstant(1_000)

describe.each(stores)('bytes that no row names, on $name', ({ database }) => {
  beforeEach(() => database.deleteFrom('unnamed_blobs').execute())

  const put = async (room = 'files'): Promise<string> => {
    const key = `${room}/${randomUUID()}`
    await blobs.put(key, Readable.from(['bytes']))
    return key
  }
  const isThere = async (key: string): Promise<boolean> => {
    const bytes = await blobs.get(key)
    return bytes !== undefined && (await text(bytes)) === 'bytes'
  }
  const name = (key: string) => inTransaction(database, (tx) => nameBlob(tx, key))
  const sweep = (at = due, store: Blobs = blobs, signal?: AbortSignal) =>
    sweepUnnamed({ database, blobs: store }, 'files', at, signal)

  test('are swept when they are due; what a row has named is not, nor another room, nor what others have put there', async () => {
    const [unnamed, named, elsewhere, foreign] = [await put(), await put(), await put('exports'), await put()]
    await addUnnamed(database, [unnamed, named, elsewhere], due)
    expect(await name(named)).toBe(true)
    expect(await sweep(toInstant(due - 1))).toBe(0)
    expect(await isThere(unnamed)).toBe(true)
    expect(await sweep()).toBe(1)
    expect(await Promise.all([unnamed, named, elsewhere, foreign].map(isThere))).toEqual([false, true, true, true])
    expect(await name(unnamed)).toBe(false)
    expect(await database.selectFrom('unnamed_blobs').select('blob_key').execute()).toEqual([{ blob_key: elsewhere }])
  })

  test('more of them than a sweep takes at a time are all swept', async () => {
    const keys = Array.from({ length: 401 }, () => `files/${randomUUID()}`)
    await addUnnamed(database, keys, due)
    expect(await sweep()).toBe(401)
    expect(await database.selectFrom('unnamed_blobs').select('blob_key').execute()).toEqual([])
  })

  test('no row can name what is being deleted, and what could not be deleted is by the next sweep', async () => {
    const key = await put()
    await addUnnamed(database, [key], due)
    const named: boolean[] = []
    const failing: Blobs = {
      ...blobs,
      delete: async () => {
        named.push(await name(key))
        throw new Error('not now')
      },
    }
    await expect(sweep(due, failing)).rejects.toThrow('not now')
    expect(named).toEqual([false])
    expect([await name(key), await isThere(key)]).toEqual([false, true])
    expect(await sweep()).toBe(1)
    expect(await isThere(key)).toBe(false)
  })

  /** A store in which some bytes cannot be deleted. */
  const holding = (kept: readonly string[]): Blobs => ({
    ...blobs,
    delete: async (key) => {
      if (kept.includes(key)) throw new Error('not allowed')
      await blobs.delete(key)
    },
  })

  test('some that cannot be deleted hold up no others; the sweep fails by their keys, and the next one tries them again', async () => {
    const keys = [await put(), await put(), await put()]
    const [first = '', kept = '', last = ''] = keys
    await addUnnamed(database, [kept], toInstant(due - 1))
    await addUnnamed(database, [first, last], due)
    await expect(sweep(due, holding([kept]))).rejects.toThrow(`1 could not be deleted, ${kept}: not allowed`)
    expect(await Promise.all(keys.map(isThere))).toEqual([false, true, false])
    expect(await database.selectFrom('unnamed_blobs').select('blob_key').execute()).toEqual([{ blob_key: kept }])
    expect(await sweep()).toBe(1)
    expect(await isThere(kept)).toBe(false)
  })

  test('many that cannot be deleted end a sweep, and the next one begins with the others', async () => {
    const kept = await Promise.all(Array.from({ length: 12 }, () => put()))
    const other = await put()
    await addUnnamed(database, kept, toInstant(due - 2))
    await addUnnamed(database, [other], toInstant(due - 1))
    const tried: string[] = []
    const down = holding(kept)
    const asked = { ...down, delete: (key: string) => down.delete(key).finally(() => tried.push(key)) }
    await expect(sweep(due, asked)).rejects.toThrow('10 could not be deleted')
    expect([tried.length, await isThere(other)]).toEqual([10, true])
    await expect(sweep(due, asked)).rejects.toThrow('12 could not be deleted')
    expect([tried.indexOf(other), new Set(tried).size, await isThere(other)]).toEqual([12, 13, false])
  })

  test('a process that goes down lets the sweep end between two of them, and the next one does the rest', async () => {
    const keys = [await put(), await put()]
    await addUnnamed(database, keys, due)
    const stopping = new AbortController()
    const last: Blobs = {
      ...blobs,
      delete: (key) => blobs.delete(key).finally(() => stopping.abort(new Error('down'))),
    }
    await expect(sweep(due, last, stopping.signal)).rejects.toThrow('down')
    expect((await Promise.all(keys.map(isThere))).filter(Boolean)).toHaveLength(1)
    expect(await sweep()).toBe(2)
    expect(await Promise.all(keys.map(isThere))).toEqual([false, false])
  })

  test('a row and a sweep that race: either the row has its bytes, or it is told that they are gone', async () => {
    const outcomes: string[] = []
    for (let round = 0; round < 60; round++) {
      const key = await put()
      await addUnnamed(database, [key], due)
      // Whoever is asked first has the better chance.
      const sweeping = round % 2 === 0 ? sweep() : null
      const [isNamed, swept] = await Promise.all([name(key), sweeping ?? sweep()])
      expect([isNamed, swept]).toEqual(isNamed ? [true, 0] : [false, 1])
      expect(await isThere(key)).toBe(isNamed)
      outcomes.push(isNamed ? 'row' : 'sweep')
    }
    expect(new Set(outcomes)).toEqual(new Set(['row', 'sweep']))
  })

  test('what a transaction that fails had named stays to be swept', async () => {
    const key = await put()
    await addUnnamed(database, [key], due)
    const failing = inTransaction(database, async (tx) => {
      expect(await nameBlob(tx, key)).toBe(true)
      throw new Error('the row was refused')
    })
    await expect(failing).rejects.toThrow('the row was refused')
    expect(await sweep()).toBe(1)
    expect(await isThere(key)).toBe(false)
  })
})
