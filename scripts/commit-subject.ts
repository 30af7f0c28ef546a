/** The types that a commit subject can have. */
export const commitTypes = [
  'feat',
  'fix',
  'perf',
  'refactor',
  'test',
  'docs',
  'build',
  'ci',
  'chore',
  'revert',
] as const

const form = new RegExp(`^(?:${commitTypes.join('|')})(?:\\([a-z0-9,-]+\\))?!?: (?<subject>\\S.*)$`)

// Verb forms that are not imperative, as far as a pattern can detect them. Verbs such as "embed" and "process" are
// exceptions.
const notImperative = /^(?!embed|exceed|feed|need|process|address|pass|bring|focus)[a-z]+(?:ed|ing|ss?es)\b/i

/** Returns the error of a commit subject, or null. Merge commits made by Git are not checked. */
export const subjectError = (subject: string): string | null => {
  if (/^Merge (?:branch|pull request|remote-tracking)/.test(subject)) return null
  if (subject.length > 72) return `has ${subject.length} characters, 72 are allowed`
  const description = form.exec(subject)?.groups?.subject
  if (!description) return 'is not "type(scope): subject"'
  if (notImperative.test(description)) return 'does not start with an imperative verb'
  if (description.endsWith('.')) return 'ends with a period'
  return null
}
