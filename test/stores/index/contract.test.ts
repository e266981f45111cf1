/** The file store keeps its promises with the index as its catalog. */
import { mark } from "../../../src/stores/file/index/marks.ts";
import { homeAt } from "../../../src/stores/file/layout.ts";
import type { Catalog } from "../../../src/stores/file/catalog.ts";
import { storeContract } from "../contract.ts";
import { newHome, storeAt } from "../given.ts";
import { indexOf } from "./indexing.ts";

/** An index whose indexer has just been through whenever something is searched for. */
function diligent(home: string): Catalog {
  const index = indexOf(home);
  return {
    list: async (query) => index.list(query),
    async search(query) {
      index.pass();
      return index.search(query);
    },
    touched: (thread) => mark(homeAt(home), thread),
    gone: (thread) => mark(homeAt(home), thread),
    close: async () => index.close(),
  };
}

storeContract({
  name: "file, with an index",
  make(now) {
    const home = newHome();
    return storeAt(home, { now, catalog: diligent(home) });
  },
});
