const unreleased = '## [Unreleased]\n'

/** Throws if the changelog does not contain the version. */
export function entriesOf(changelog: string, version: string): string {
  const start = changelog.indexOf(`## [${version}]`)
  if (start < 0) throw new Error(`CHANGELOG.md has no section for ${version}`)
  const body = changelog.slice(changelog.indexOf('\n', start) + 1)
  const end = body.indexOf('\n## [')
  const entries = (end < 0 ? body : body.slice(0, end)).trim()
  if (entries === '') throw new Error(`CHANGELOG.md has no entries for ${version}`)
  return entries
}

/**
 * Moves the unreleased entries to the version, or dates its existing section. Throws if the version is released or has
 * no entries.
 */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  const prepared = `## [${version}]\n`
  if (changelog.includes(prepared)) {
    entriesOf(changelog, version)
    if (hasUnreleasedEntries(changelog)) throw new Error(`move the unreleased entries of CHANGELOG.md to ${version}`)
    return changelog.replace(prepared, `## [${version}] - ${date}\n`)
  }
  if (changelog.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md has a section for ${version} already`)
  entriesOf(changelog, 'Unreleased')
  return changelog.replace(unreleased, `${unreleased}\n## [${version}] - ${date}\n`)
}

function hasUnreleasedEntries(changelog: string): boolean {
  const body = changelog.split(unreleased)[1] ?? ''
  return (body.split('\n## [')[0] ?? '').trim() !== ''
}
