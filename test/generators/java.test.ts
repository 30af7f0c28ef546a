import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { expectTransfer, follow, isInstalled, writeProgram } from './guide.ts'

const hasJava = isInstalled(['javac', '-version'], ['mvn', '-version'])

test(
  'openapi-generator: the Java client compiles, signs in and makes a transfer',
  needs(hasJava, 'a JDK or Maven is not installed'),
  async () => {
    const { folder } = await follow('Java')
    const classes = join(folder, 'client/target/classes/org/openapitools/client')
    for (const name of ['api/WalletsApi', 'model/Wallet', 'model/Refusal'])
      expect(existsSync(join(classes, `${name}.class`)), name).toBe(true)
    await writeProgram('Java', 'java', join(folder, 'Transfer.java'))
    await expectTransfer(folder, ['java', '-cp', 'client/target/classes:client/target/lib/*', 'Transfer.java'])
  },
)
