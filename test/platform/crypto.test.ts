import { describe, expect, test } from 'vitest'
import {
  createKeyedDigest,
  createPasswordHasher,
  createSecretBox,
  type PasswordHasher,
} from '../../src/platform/crypto/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'

const key = new Uint8Array(32).fill(1)
const keys = { current: key, previous: [] }
function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

describe('the secret box', () => {
  const box = createSecretBox(keys, systemRandomness)
  const sealed = box.seal('signing-key', 'row-1', Buffer.from('secret'))

  test('opens what it sealed; the same text is sealed differently each time', () => {
    expect(text(box.open('signing-key', 'row-1', sealed))).toBe('secret')
    expect(box.seal('signing-key', 'row-1', Buffer.from('secret'))).not.toEqual(sealed)
  })

  test('does not open for another purpose, context or key, nor with any byte changed or cut', () => {
    expect(() => box.open('channel-key', 'row-1', sealed)).toThrow()
    expect(() => box.open('signing-key', 'row-2', sealed)).toThrow()
    const other = createSecretBox({ current: new Uint8Array(32), previous: [] }, systemRandomness)
    expect(() => other.open('signing-key', 'row-1', sealed)).toThrow(
      /signing-key has the key id [0-9a-f]{8}: neither PORTICO_SECRET_KEY/,
    )
    for (let index = 0; index < sealed.length; index++) {
      const changed = Uint8Array.from(sealed)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(() => box.open('signing-key', 'row-1', changed)).toThrow()
      expect(() => box.open('signing-key', 'row-1', sealed.subarray(0, index))).toThrow()
    }
  })

  test('requires a key of 32 bytes', () => {
    for (const length of [16, 31, 33, 64])
      expect(() => createSecretBox({ current: new Uint8Array(length), previous: [] }, systemRandomness)).toThrow(
        RangeError,
      )
  })
})

/** An earlier version stored these values. */
test('values of earlier versions are opened, and found by their digest', () => {
  const sealed = Buffer.from('01aa993461090909090909090909090909beeda86d05d451b9eedcd2127837b98f1942f6a49d4a', 'hex')
  expect(text(createSecretBox(keys, systemRandomness).open('withdrawal-account', 'row-1', sealed))).toBe('secret')
  expect(Buffer.from(createKeyedDigest(keys)('withdrawal-account', 'ab', 'c')).toString('hex')).toBe(
    'aa993461d403967f4b1607df610322639008eb86ea7611f31c9c2e8d1aee2061b172a37c',
  )
})

describe('a rotation of the secret key', () => {
  const next = new Uint8Array(32).fill(2)
  const rotated = { current: next, previous: [key] }

  test('values under a previous key open; new values do not open with the previous key alone', () => {
    const sealed = createSecretBox(keys, systemRandomness).seal('otp-secret', 'row-1', Buffer.from('secret'))
    const box = createSecretBox(rotated, systemRandomness)
    expect(text(box.open('otp-secret', 'row-1', sealed))).toBe('secret')
    const renewed = box.seal('otp-secret', 'row-1', Buffer.from('secret'))
    expect(() => createSecretBox(keys, systemRandomness).open('otp-secret', 'row-1', renewed)).toThrow(/key id/)
    expect(
      text(createSecretBox({ current: next, previous: [] }, systemRandomness).open('otp-secret', 'row-1', renewed)),
    ).toBe('secret')
  })

  test('digests match under the current and the previous key, and under no other key', () => {
    const stored = createKeyedDigest(keys)('api-key', 'a', 'b')
    const digest = createKeyedDigest(rotated)
    expect(digest.matches(stored, 'api-key', 'a', 'b')).toBe(true)
    expect(digest.matches(stored, 'api-key', 'a', 'c')).toBe(false)
    expect(digest.isCurrent(stored)).toBe(false)
    expect(digest.isCurrent(digest('api-key', 'a', 'b'))).toBe(true)
    expect(digest.candidates('api-key', 'a', 'b')).toEqual([digest('api-key', 'a', 'b'), stored])
    expect(createKeyedDigest({ current: next, previous: [] }).matches(stored, 'api-key', 'a', 'b')).toBe(false)
  })
})

describe('keyed digests', () => {
  test('differ by key, purpose and the boundaries between parts', () => {
    const digest = createKeyedDigest(keys)
    const all = [
      digest('api-key', 'ab', 'c'),
      digest('api-key', 'a', 'bc'),
      digest('api-key', 'abc'),
      digest('client-hash', 'abc'),
      createKeyedDigest({ current: new Uint8Array(32), previous: [] })('api-key', 'abc'),
    ]
    expect(new Set(all.map((each) => Buffer.from(each).toString('hex'))).size).toBe(all.length)
    expect(digest('api-key', 'abc')).toEqual(digest('api-key', 'abc'))
  })
})

describe('the password hasher', () => {
  test('hashes with argon2id, 19 MiB and two passes, and normalizes to NFKC', async () => {
    const hasher = createPasswordHasher({ concurrency: 2, waiting: 10 }, systemRandomness)
    const hashed = await hasher.hash('ﬁnanz-pass')
    expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await hasher.verify(hashed, 'finanz-pass')).toBe(true)
    expect(await hasher.verify(hashed, 'ﬁnanz-pass')).toBe(true)
    expect(await hasher.verify(hashed, 'finanz-pasS')).toBe(false)
    expect(await hasher.verify(null, 'finanz-pass')).toBe(false)
  })

  test('isOutdated: true for a hash with other costs', async () => {
    const hasher = createPasswordHasher({ concurrency: 2, waiting: 10 }, systemRandomness)
    const hashed = await hasher.hash('x')
    expect(hasher.isOutdated(hashed)).toBe(false)
    for (const [now, before] of [
      ['m=19456', 'm=4096'],
      ['t=2', 't=3'],
      ['argon2id', 'argon2i'],
    ] as const)
      expect(hasher.isOutdated(hashed.replace(now, before))).toBe(true)
  })

  test('verify: takes the same time without an account', async () => {
    const hasher = createPasswordHasher({ concurrency: 1, waiting: 10 }, systemRandomness)
    const hashed = await hasher.hash('x')
    const timeOf = async (against: string | null): Promise<number> => {
      const start = performance.now()
      await hasher.verify(against, 'y')
      return performance.now() - start
    }
    await timeOf(null)
    // Other processes slow some runs.
    const [withoutAccount, withAccount]: [number[], number[]] = [[], []]
    for (let time = 0; time < 5; time++) {
      withoutAccount.push(await timeOf(null))
      withAccount.push(await timeOf(hashed))
    }
    // Without a hash, it would take a hundredth of the time.
    expect(Math.min(...withoutAccount) / Math.min(...withAccount)).toBeGreaterThan(0.2)
  })

  test('verify: compares every character of a long password', async () => {
    const hasher = createPasswordHasher({ concurrency: 2, waiting: 10 }, systemRandomness)
    const hashed = await hasher.hash('x'.repeat(256))
    expect(await hasher.verify(hashed, `${'x'.repeat(255)}y`)).toBe(false)
  })

  test.each([
    ['verify', (hasher: PasswordHasher) => hasher.verify(null, 'x')],
    ['hash', (hasher: PasswordHasher) => hasher.hash('x')],
  ])('%s SYSTEM.UNAVAILABLE: refused when the queue is full', async (_, work) => {
    const hasher = createPasswordHasher({ concurrency: 1, waiting: 3 }, systemRandomness)
    // The first comparison waits for the decoy hash.
    await hasher.verify(null, 'x')
    const calls = Array.from({ length: 10 }, () => work(hasher))
    await Promise.resolve()
    await Promise.resolve()
    expect(hasher.waiting()).toBe(3)
    const all = await Promise.allSettled(calls)
    expect(hasher.waiting()).toBe(0)
    const refused = all.filter((each) => each.status === 'rejected')
    expect(refused).toHaveLength(6)
    expect(refused.map((each) => each.reason.code)).toEqual(Array(6).fill('SYSTEM.UNAVAILABLE'))
    expect(await hasher.verify(null, 'x')).toBe(false)
  })
})
