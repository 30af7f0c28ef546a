import type { IdentityPorts } from '../../src/identity/index.ts'

/** Runs something once, after the next verification of a password and before its result is used. */
export type Meanwhile = (happens: () => Promise<unknown>) => void

export const meanwhileIn = (ports: IdentityPorts): Meanwhile => {
  const { passwords } = ports
  let next: (() => Promise<unknown>) | undefined
  ports.passwords = {
    ...passwords,
    verify: async (hash, password) => {
      const matches = await passwords.verify(hash, password)
      const happens = next
      next = undefined
      await happens?.()
      return matches
    },
  }
  return (happens) => {
    next = happens
  }
}
