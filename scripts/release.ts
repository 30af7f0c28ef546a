/*
 * Prepares a release: `npm run release -- 0.2.0`. Updates changelog and version, runs the checks, builds the
 * packages, the SBOM and, with buildah, the image. Prints the commands that publish the result, but publishes and commits
 * nothing. Fails if a pinned base image is outdated or its registry does not answer.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { argv, stderr, stdout } from 'node:process'
import { releaseChangelog } from './changelog.ts'
import { writeSbom } from './sbom.ts'

function run(command: string, ...args: string[]): void {
  stdout.write(`> ${command} ${args.join(' ')}\n`)
  execFileSync(command, args, { stdio: 'inherit' })
}

function succeeds(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

function main(version: string | undefined): void {
  if (!version || !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/.test(version))
    throw new Error('usage: npm run release -- <version>')
  if (execFileSync('git', ['status', '--porcelain'], { encoding: 'utf8' }) !== '')
    throw new Error('the working tree has changes')
  if (succeeds('git', 'rev-parse', `v${version}`)) throw new Error(`tag v${version} exists already`)

  run('npm', 'run', 'check:images')
  const today = new Date().toISOString().slice(0, 10)
  const changelog = releaseChangelog(readFileSync('CHANGELOG.md', 'utf8'), version, today)
  writeFileSync('CHANGELOG.md', changelog)
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version')
  // Check the tree that is released. `git checkout .` undoes the changes.
  run('.ci/run')
  mkdirSync('release', { recursive: true })
  run('node', 'scripts/check-package.ts', 'release')
  stdout.write(`${writeSbom('release')}\n`)
  if (succeeds('buildah', '--version')) run('scripts/test-image.sh')
  else stdout.write('image: skipped, because buildah is not installed\n')

  stdout.write(`
Prepared ${version}. Review the changes, then publish:

  git commit -am 'chore(release): release ${version}'
  git tag v${version}
  git push --follow-tags
  npm publish release/portico-${version}.tgz
  npm publish release/portico-client-${version}.tgz

Attach the SBOM, release/portico-${version}.cdx.json, to the release.
`)
}

try {
  main(argv[2])
} catch (error) {
  stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
