import type { IdentityPorts } from '../../src/identity/index.ts'

/** Runs work once, after the next verification of a password and before its result is used. */
export type RunAfterVerify = (work: () => Promise<unknown>) => void

export function interceptVerify(ports: IdentityPorts): RunAfterVerify {
  const { passwords } = ports
  let next: (() => Promise<unknown>) | undefined
  ports.passwords = {
    ...passwords,
    verify: async (hash, password) => {
      const matches = await passwords.verify(hash, password)
      const work = next
      next = undefined
      await work?.()
      return matches
    },
  }
  return (work) => {
    next = work
  }
}
