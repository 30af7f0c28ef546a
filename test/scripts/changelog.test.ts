import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { entriesOf, releaseChangelog } from '../../scripts/changelog.ts'

const changelog = `# Changelog

## [Unreleased]

### Fixed

- A bug.

## [0.1.0] - 2026-01-01

### Added

- Everything.
`

test('a release moves the unreleased entries under its version', () => {
  const released = releaseChangelog(changelog, '0.2.0', '2026-02-01')
  expect(entriesOf(released, '0.2.0')).toBe('### Fixed\n\n- A bug.')
  expect(entriesOf(released, '0.1.0')).toBe('### Added\n\n- Everything.')
  expect(released).toContain('## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n')
})

test('a release without entries is refused', () => {
  const empty = changelog.replace('### Fixed\n\n- A bug.\n\n', '')
  expect(() => releaseChangelog(empty, '0.2.0', '2026-02-01')).toThrow('no entries for Unreleased')
})

test('a version that was released before is refused', () => {
  expect(() => releaseChangelog(changelog, '0.1.0', '2026-02-01')).toThrow('a section for 0.1.0 already')
})

test('a section of the version that was written in advance gets the date', () => {
  const prepared = changelog.replace('### Fixed\n\n- A bug.\n\n', '').replace('## [0.1.0] - 2026-01-01', '## [0.1.0]')
  const released = releaseChangelog(prepared, '0.1.0', '2026-02-01')
  expect(released).toBe(prepared.replace('## [0.1.0]', '## [0.1.0] - 2026-02-01'))
})

test('a section that was written in advance is refused next to unreleased entries', () => {
  const prepared = changelog.replace('## [0.1.0] - 2026-01-01', '## [0.1.0]')
  expect(() => releaseChangelog(prepared, '0.1.0', '2026-02-01')).toThrow('move the unreleased entries')
})

test('the changelog can be released as the version of the package', () => {
  const text = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  expect(releaseChangelog(text, packageJson.version, '2026-02-01')).toContain(
    `## [${packageJson.version}] - 2026-02-01`,
  )
})

test('the changelog has entries for the version of the package', () => {
  const text = readFileSync(new URL('../../CHANGELOG.md', import.meta.url), 'utf8')
  expect(entriesOf(text, packageJson.version)).not.toBe('')
})
