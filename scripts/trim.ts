/*
 * Removes files of installed packages that nothing reads: the C headers of Node, source maps, one of the three builds
 * of OpenTelemetry, the sources of zod, and the ES modules of Swagger UI. They take a fifth of the space of
 * node_modules. `npm ci` runs this script through `prepare`.
 */
import { globSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../node_modules', import.meta.url))
const unused = [
  'node-*/{include,share}',
  '**/*.{js,mjs,cjs,css,ts,mts,cts}.map',
  '@opentelemetry/*/build/esnext',
  'zod/src',
  'swagger-ui-dist/swagger-ui-es-*',
]

for (const path of globSync(unused, { cwd: packages })) rmSync(`${packages}/${path}`, { recursive: true, force: true })
