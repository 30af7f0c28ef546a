/*
 * Removes files of installed packages that nothing reads: the C headers of Node, source maps, one of the three builds
 * of OpenTelemetry, tests and sources of packages, and the ES modules of Swagger UI. They take a fifth of the space of
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
  '{*,@*/*}/{test,tests}',
  '**/{CHANGELOG,HISTORY}.md',
  '@zxcvbn-ts/*/src',
  '**/*.d.cts',
  // The applications use the ES modules of these packages, and only the production build of React for browsers.
  '@base-ui/*/**/*.{js,d.ts}',
  '@base-ui/*/docs',
  '@tanstack/*/{build/{legacy,query-codemods},src}',
  'react-dom/cjs/*{development,profiling,server}*',
  'axe-core/{locales,axe.js}',
]

for (const path of globSync(unused, { cwd: packages })) rmSync(`${packages}/${path}`, { recursive: true, force: true })
