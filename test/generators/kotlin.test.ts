import { join } from 'node:path'
import { test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { expectTransfer, follow, isInstalled, runSuccessfully, writeProgram } from './guide.ts'

// Maven brings its own compiler, but compiling takes 110 CPU seconds, as long as three other languages.
const hasKotlin = isInstalled(['kotlinc', '-version'], ['java', '-version'], ['mvn', '-version'])
const libraries = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies'

test(
  'openapi-generator: the Kotlin client compiles, signs in and makes a transfer',
  needs(hasKotlin, 'Kotlin, Java or Maven is not installed'),
  async () => {
    const { folder } = await follow('Kotlin')
    await writeProgram('Kotlin', 'xml', join(folder, 'client/pom.xml'))
    await writeProgram('Kotlin', 'kotlin', join(folder, 'client/src/main/kotlin/Transfer.kt'))
    // Without a daemon, which would outlive the test.
    const compile = ['mvn', '-q', '-B', '-f', 'client', '-Dkotlin.compiler.daemon=false', 'compile', libraries]
    await runSuccessfully(folder, [...compile, '-DoutputDirectory=target/lib'])
    await expectTransfer(folder, ['java', '-cp', 'client/target/classes:client/target/lib/*', 'TransferKt'])
  },
)
