import type { z } from 'zod'
import { settingName } from './env.ts'

type Issue = z.core.$ZodIssue

/** Of a setting that may be several things, what is wrong with the one that was meant: the one that is read furthest. */
const unfoldUnion = (issue: Issue): Issue[] => {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((issues) => issues.some(({ path }) => path.length > 0))
  if (!meant) return [issue]
  return meant.flatMap((inner) => unfoldUnion({ ...inner, path: [...issue.path, ...inner.path] }))
}

/** Of a name that no setting at the top has, the message alone tells. */
const toErrorLine = ({ path, message }: Issue): string =>
  path.length === 0 ? message : `${settingName(path.join('.'))}: ${message}`

/** A line for each fault that the schema finds, naming the setting and the variable that sets it; never its value. */
export const toErrorLines = (issues: readonly Issue[]): string[] => issues.flatMap(unfoldUnion).map(toErrorLine)
