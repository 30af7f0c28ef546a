/* Checks the OpenAPI document on standard input with the strictest rules of Redocly. Prints the problems as JSON. */
import { text } from 'node:stream/consumers'
import { createConfig, lintFromString } from '@redocly/openapi-core'

const config = await createConfig({ extends: ['recommended-strict'] })
const source = await text(process.stdin)
const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config })
process.stdout.write(JSON.stringify(problems.map(({ ruleId, message }) => ({ ruleId, message }))))
