// SPDX-License-Identifier: GPL-2.0
// A check for clang-tidy that finds nothing: it has the other checks look at declarations of this
// tree alone. By itself clang-tidy 14 looks through all of <gtest/gtest.h> for each file, which
// takes three times as long, and drops what it finds there.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Basic/SourceManager.h>

#include <vector>

namespace {

class Own : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(clang::ast_matchers::MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
  }

  // The unit is matched first; its children are visited as the scope then says.
  void check(const clang::ast_matchers::MatchFinder::MatchResult& result) override {
    std::vector<clang::Decl*> own;

    for (clang::Decl* each : result.Context->getTranslationUnitDecl()->decls()) {
      if (!result.SourceManager->isInSystemHeader(each->getLocation())) {
        own.push_back(each);
      }
    }
    result.Context->setTraversalScope(own);
  }
};

class OwnModule : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<Own>("own-declarations");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<OwnModule> kAdded("own", "");

}  // namespace
