/*
 * Prepares a release: `npm run release -- 0.2.0`. Moves the unreleased entries of the changelog to the version, sets
 * the version, runs the checks, packs and checks the package, builds the image if buildah is available, and prints the
 * commands that publish the result. It neither publishes nor commits anything.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { argv, stderr, stdout } from 'node:process'
import { releaseChangelog } from './changelog.ts'

const run = (command: string, ...args: string[]): void => {
  stdout.write(`> ${command} ${args.join(' ')}\n`)
  execFileSync(command, args, { stdio: 'inherit' })
}

const succeeds = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

const main = (version: string | undefined): void => {
  if (!version || !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(version))
    throw new Error('usage: npm run release -- <version>')
  if (execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' }) !== '')
    throw new Error('the working tree has changes')
  if (succeeds('git', 'rev-parse', `v${version}`)) throw new Error(`tag v${version} exists already`)

  const today = new Date().toISOString().slice(0, 10)
  const changelog = releaseChangelog(readFileSync('CHANGELOG.md', 'utf8'), version, today)
  writeFileSync('CHANGELOG.md', changelog)
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version')
  // Run the checks after both changes, so that they check the tree that is released. `git checkout .` undoes the
  // changes.
  run('.ci/run')
  mkdirSync('release', { recursive: true })
  run('node', 'scripts/check-package.ts', 'release')
  if (succeeds('buildah', '--version')) run('scripts/test-image.sh')
  else stdout.write('image: skipped, because buildah is not installed\n')

  stdout.write(`
Prepared ${version}. Review the changes, then publish:

  git commit -am 'chore(release): release ${version}'
  git tag v${version}
  git push --follow-tags
  npm publish release/portico-${version}.tgz
`)
}

try {
  main(argv[2])
} catch (error) {
  stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
