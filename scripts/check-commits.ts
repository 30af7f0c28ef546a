/* Checks commit subjects, by default those since the latest release: `node scripts/check-commits.ts [range]`. */
import { execFileSync } from 'node:child_process'
import { argv, stderr, stdout } from 'node:process'
import { subjectError } from './commit-subject.ts'

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

/** The latest release, or else the commit that added this check. */
function start(): string {
  try {
    return git('describe', '--tags', '--match', 'v*', '--abbrev=0').trim()
  } catch {
    return git('log', '--diff-filter=A', '--format=%H', '--', 'scripts/check-commits.ts').trim()
  }
}

if (git('rev-parse', '--is-shallow-repository').trim() === 'true')
  stderr.write(
    'shallow clone: only the commits that it contains are checked; `git fetch --unshallow` gets the others\n',
  )

const commits = git('log', '--format=%h %s', argv[2] ?? `${start()}..HEAD`)
  .split('\n')
  .filter(Boolean)
const errors = commits.flatMap((line) => {
  const [hash = '', ...words] = line.split(' ')
  const error = subjectError(words.join(' '))
  return error ? [`${hash} "${words.join(' ')}" ${error}`] : []
})
for (const error of errors) stderr.write(`${error}\n`)
stdout.write(`${commits.length} commit subjects checked, ${errors.length} rejected\n`)
if (errors.length > 0) process.exitCode = 1
