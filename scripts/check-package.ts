/*
 * Packs the package as `npm publish` would, and checks the tarball with publint and "are the types wrong": `node
 * scripts/check-package.ts [folder for the tarball]`. Prints only findings and the file name.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, stderr, stdout } from 'node:process'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { z } from 'zod'

// The package is an ES module: resolution by CommonJS and by TypeScript's node10 mode is not supported.
const unsupported: unknown[] = ['node10', 'node16-cjs']

const Packed = z.tuple([z.looseObject({ filename: z.string() })])

/** Returns the path of the tarball that npm makes in `folder`. */
const pack = (folder: string): string => {
  const output = execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', folder], { encoding: 'utf8' })
  // The output of the prepack scripts comes before the output of npm.
  return join(folder, Packed.parse(JSON.parse(output.slice(output.indexOf('[\n'))))[0].filename)
}

const findings = async (tarball: string): Promise<string[]> => {
  const bytes = Uint8Array.from(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
  const analysis = await checkPackage(createPackageFromTarballData(bytes))
  const problems = analysis.types ? analysis.problems : [{ kind: 'NoTypes' }]
  return [
    ...messages.map((message) => `publint: ${formatMessage(message, pkg) ?? message.code}`),
    ...problems
      .filter((problem) => !('resolutionKind' in problem && unsupported.includes(problem.resolutionKind)))
      .map((problem) => `types: ${JSON.stringify(problem)}`),
  ]
}

const folder = argv[2] ?? mkdtempSync(join(tmpdir(), 'portico-package-'))
try {
  const tarball = pack(folder)
  const found = await findings(tarball)
  for (const finding of found) stderr.write(`${finding}\n`)
  stdout.write(`${tarball}: ${found.length} findings\n`)
  if (found.length > 0) process.exitCode = 1
} finally {
  if (!argv[2]) rmSync(folder, { recursive: true, force: true })
}
