import fc from "fast-check";
import { expect, test } from "vitest";
import { placesOf, placesWithTokens } from "../../../src/tools/patch/places.ts";

const lines = (most: number, least = 0) => fc.array(fc.constantFrom("a", "b", ""), { minLength: least, maxLength: most });

test("the places are those that comparing everywhere finds", () => {
  fc.assert(
    fc.property(lines(4, 1), lines(30), fc.nat(5), (wanted, file, from) => {
      const expected = file.flatMap((_, at) => (at >= from && at + wanted.length <= file.length && wanted.every((line, index) => line === file[at + index]) ? [at] : []));
      expect(placesOf(wanted, file, from)).toEqual(expected);
      expect(placesWithTokens(wanted, file, from)).toEqual(expected);
    }),
    { seed: 20_260_133, numRuns: 3000 },
  );
});
