import { maxPasswordLength, minPasswordLength, passwordLength } from '../../contract/account-fields.ts'
import { invalid } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'

/** Returns the zxcvbn score of a password, from 0 to 4. `words` do not add to the score. */
type Estimate = (password: string, words: string[]) => number

/** zxcvbn's running time grows faster than the length, and further characters cannot lower the score. */
const maxEstimatedLength = 40

let loading: Promise<Estimate> | undefined

export function strengthEstimator(): Promise<Estimate> {
  loading ??= loadEstimator()
  return loading
}

export interface PasswordPolicyPorts extends Pick<IdentityPorts, 'breachedPasswords'> {
  settings: Pick<IdentitySettings, 'passwords'>
}

interface PasswordOwner {
  email: string
  name: string
}

const minOtherCharacters = 4

/**
 * Throws VALIDATION.INVALID_PARAMETER for `newPassword`. Follows NIST SP 800-63B-4, section 3.1.1.2: length in NFKC
 * characters, a blocklist, estimated strength and known breaches, without composition rules. Eight characters suffice,
 * because every sign-in requires a second factor.
 */
export async function assertPasswordAllowed(
  { breachedPasswords, settings }: PasswordPolicyPorts,
  password: string,
  owner: PasswordOwner,
): Promise<void> {
  const refused = (reason: string) => invalid('newPassword', `the new password is ${reason}`)
  const { minimumScore, blocklist } = settings.passwords
  const normalized = password.normalize('NFKC')
  const length = passwordLength(normalized)
  if (length < minPasswordLength || length > maxPasswordLength) throw refused('too short or too long')
  const words = [...blocklist, ...wordsOf(owner)]
  if (withoutWords(normalized, words).length < minOtherCharacters) throw refused('made of words on the blocklist')
  const estimate = await strengthEstimator()
  if (estimate(normalized, words) < minimumScore) throw refused('too weak')
  if (await breachedPasswords.isBreached(normalized)) throw refused('known from a breach')
}

/** The dictionaries take tens of megabytes. Load them only when needed. */
async function loadEstimator(): Promise<Estimate> {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ])
  const dictionary = { ...common.dictionary, ...english.dictionary }
  const estimator = new ZxcvbnFactory({ dictionary, graphs: common.adjacencyGraphs, maxLength: maxEstimatedLength })
  return (password, words) => estimator.check(password, words).score
}

function wordsOf({ email, name }: PasswordOwner): string[] {
  return [email, ...email.split(/[@.+_-]/), name, ...name.split(/\s+/)].filter((word) => word.length > 2)
}

function withoutWords(password: string, words: string[]): string {
  return words.reduce((rest, word) => rest.replaceAll(word.toLowerCase(), ''), password.toLowerCase())
}
