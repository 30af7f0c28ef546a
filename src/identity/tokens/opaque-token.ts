import type { Randomness } from '../../kernel/index.ts'

const tokenBytes = 32
const form = /^[A-Za-z0-9_-]{43}$/

/** 256 bits that mean nothing by themselves. They leave once and are kept as a digest. */
export const mintToken = (randomness: Randomness): string =>
  Buffer.from(randomness.bytes(tokenBytes)).toString('base64url')

/** Whether a text can be one of ours at all; a store is asked only about those. */
export const isOpaqueToken = (text: string): boolean => form.test(text)
