import { maxPasswordLength, minPasswordLength, passwordLength } from '../../contract/account-fields.ts'
import { invalid } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { strengthEstimate } from './strength.ts'

/** What is known of whoever takes the password, and makes it no stronger. */
interface About {
  email: string
  name: string
}

/** Refuses a password with VALIDATION.INVALID_PARAMETER naming `newPassword`. */
export type PasswordRule = (password: string, about: About) => Promise<void>

const wordsOf = ({ email, name }: About): string[] =>
  [email, ...email.split(/[@.+_-]/), name, ...name.split(/\s+/)].filter((word) => word.length > 2)

/** So much of a password has to be something else than words of its surroundings. */
const leastBeside = 4

/** What is left of a password without the words, however they are written and repeated. */
const beside = (password: string, words: string[]): string =>
  words.reduce((rest, word) => rest.replaceAll(word.toLowerCase(), ''), password.toLowerCase())

/**
 * completions.md, Auth, after NIST SP 800-63B-4, 3.1.1.2: a length, in characters of NFKC; a blocklist and an estimate of
 * strength; no rules of composition. Eight suffice because every login asks for a second factor.
 */
export const passwordRule = (
  { breaches }: Pick<IdentityPorts, 'breaches'>,
  { minimumScore, blocklist }: IdentitySettings['passwords'],
): PasswordRule => {
  const refused = (why: string) => invalid('newPassword', `the new password is ${why}`)
  return async (password, about) => {
    const normal = password.normalize('NFKC')
    const length = passwordLength(normal)
    if (length < minPasswordLength || length > maxPasswordLength) throw refused('too short or too long')
    const words = [...blocklist, ...wordsOf(about)]
    if (beside(normal, words).length < leastBeside) throw refused('made of words on the blocklist')
    const estimate = await strengthEstimate()
    if (estimate(normal, words) < minimumScore) throw refused('too weak')
    if (await breaches.isBreached(normal)) throw refused('known from a breach')
  }
}
