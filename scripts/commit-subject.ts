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

// Detects forms such as "added" and "fixes". Verbs such as "embed" and "process" are exceptions.
const notImperative = /^(?!embed|exceed|feed|need|process|address|pass|bring|focus)[a-z]+(?:ed|ing|ss?es)\b/i

/** Null if valid. Ignores merge commits made by Git. */
export function subjectError(subject: string): string | null {
  if (/^Merge (?:branch|pull request|remote-tracking)/.test(subject)) return null
  if (subject.length > 72) return `has ${subject.length} characters, 72 are allowed`
  const description = form.exec(subject)?.groups?.subject
  if (!description) return 'is not "type(scope): subject"'
  if (notImperative.test(description)) return 'does not start with an imperative verb'
  if (description.endsWith('.')) return 'ends with a period'
  return null
}
